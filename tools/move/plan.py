"""What goes where: old module -> new module, in the order in which merged modules lead."""

MODULES = {
    "__init__": "__init__",
    "errors": "errors",
    "kernel": "_kernel",
    "words": "_text",
    "one_line": "_text",
    "screen": "_terminal",
    "progress": "_terminal",
    "plots": "_plots",
    "study/sections": "_sections",
    "cli/conventions": "_commands",
    "cli/image_folder": "_commands",
    "cli/image_tables": "_commands",
    "cli/mark_tables": "_commands",
    "cli/simulated_run": "_commands",
    "safe_path": "_child_process",
    "files/__init__": "files/__init__",
    "files/atomic": "files/_atomic",
    "files/study_layout": "files/_atomic",
    "files/regular": "files/_regular",
    "files/capped": "files/_regular",
    "files/strict_json": "files/_json",
    "files/digests": "files/_digests",
    "files/sealed": "files/_digests",
    "files/records": "files/_records",
    "files/journal": "files/_journal",
    "files/lock": "files/_journal",
    "detection/journal": "files/_journal",
    "files/database": "files/_database",
    "tables/__init__": "tables/__init__",
    "tables/schemas": "tables/_schemas",
    "tables/cell_types": "tables/_cells",
    "tables/csv_cells": "tables/_cells",
    "tables/sheet_cells": "tables/_sheets",
    "tables/table_files": "tables/_files",
    "tables/problems": "tables/_problems",
    "tables/validation": "tables/_checks",
    "models/columns/__init__": "models/columns/__init__",
    "models/columns/columns": "models/columns/_columns",
    "models/columns/held": "models/columns/_columns",
    "files/column_file": "files/_column_file",
    "bags/stored_instances": "bags/_stored_instances",
    "models/columns/stored": "models/columns/_file_columns",
    "models/columns/scaling": "models/columns/_file_columns",
    "models/columns/spread": "models/columns/_cluster",
    "study/workers/cluster_client": "study/executors/_dask",
    "tables/column_table": "tables/_column_table",
    "models/columns/room": "models/columns/_budget",
    "marks/__init__": "marks/__init__",
    "marks/ellipse": "marks/_ellipse",
    "marks/pixels": "marks/_ellipse",
    "marks/formats/outline": "marks/_ellipse",
    "marks/_kernels": "marks/_kernels",
    "marks/file_names": "marks/_file_names",
    "marks/mark_set": "marks/_mark_set",
    "marks/readings": "marks/_mark_set",
    "marks/left_out": "marks/_mark_set",
    "marks/study_images": "marks/_study_images",
    "marks/image_files": "marks/_study_images",
    "marks/importing": "marks/_importing",
    "marks/formats/__init__": "marks/formats/__init__",
    "marks/formats/building": "marks/formats/_builder",
    "marks/formats/left_out_shapes": "marks/formats/_builder",
    "marks/formats/json_file": "marks/formats/_readers",
    "marks/formats/xml_file": "marks/formats/_readers",
    "marks/formats/coco": "marks/formats/coco",
    "froc/foreign/detection_files": "marks/formats/coco",
    "marks/formats/dicom_sr": "marks/formats/dicom_sr",
    "marks/formats/gsps": "marks/formats/gsps",
    "marks/formats/dicom_documents": "marks/formats/_dicom_documents",
    "marks/formats/dicom_sr_writer": "marks/formats/dicom_sr_writer",
    "marks/formats/gsps_writer": "marks/formats/gsps_writer",
    "marks/formats/sheet_columns": "marks/formats/_sheet_columns",
    "marks/formats/sheet": "marks/formats/sheet",
    "marks/formats/sheet_layout": "marks/formats/sheet",
    "marks/formats/cvat": "marks/formats/cvat",
    "marks/formats/diaretdb": "marks/formats/diaretdb",
    "marks/formats/plain": "marks/formats/plain",
    "marks/formats/via": "marks/formats/via",
    "marks/formats/vindr": "marks/formats/vindr",
    "marks/formats/voc": "marks/formats/voc",
    "marks/formats/yolo": "marks/formats/yolo",
    "marks/formats/label_studio": "marks/formats/label_studio",
    "marks/formats/lidc": "marks/formats/lidc",
    "marks/formats/lidc_outline": "marks/formats/lidc",
    "marks/formats/pylidc": "marks/formats/pylidc",
    "truth/__init__": "truth/__init__",
    "truth/pairs": "truth/_grouping",
    "truth/grouping": "truth/_grouping",
    "truth/merging": "truth/_merging",
    "truth/mark_arrays": "truth/_merging",
    "truth/nesting": "truth/_merging",
    "truth/options": "truth/_options",
    "truth/labels": "truth/_labels",
    "truth/adjudication": "truth/_labels",
    "truth/hits": "truth/_hits",
    "truth/hit_rules": "truth/_hits",
    "truth/readers": "truth/_readers",
    "truth/size_fit": "truth/_readers",
    "truth/_kernels": "truth/_kernels",
    "truth/plots": "truth/_plots",
    "images/__init__": "images/__init__",
    "images/limits": "images/_limits",
    "images/spacing": "images/_spacing",
    "images/radiograph": "images/_spacing",
    "images/source": "images/_source",
    "images/reading": "images/_reading",
    "images/pictures": "images/_pictures",
    "images/colour": "images/_colour",
    "images/viewing": "images/_colour",
    "images/dicom_facts": "images/_dicom_facts",
    "images/files": "images/_dicom_facts",
    "images/display": "images/_display",
    "images/lettering": "images/_display",
    "images/png_data": "images/_intact",
    "images/tiff_data": "images/_intact",
    "images/jpeg_data": "images/_jpeg",
    "images/_kernels": "images/_kernels",
    "images/dicom_file": "images/_dicom",
    "images/dicom_elements": "images/_dicom",
    "images/dicom_codestreams": "images/_codestreams",
    "images/gridding": "images/_grid",
    "images/resampling": "images/_grid",
    "anatomy/filters": "images/_grid",
    "images/writing": "images/_writing",
    "features/__init__": "features/__init__",
    "features/family": "features/_family",
    "features/catalogue": "features/_catalogue",
    "features/plain_words": "features/_catalogue",
    "features/extraction": "features/_extraction",
    "anatomy/structures": "features/_anatomy",
    "candidates/outlines": "features/_outlines",
    "candidates/_outlines": "features/_outlines",
    "features/learned/__init__": "features/_learned",
    "features/learned/bands": "features/_learned",
    "features/learned/network": "features/_learned",
    "features/context/__init__": "features/context/__init__",
    "features/context/context": "features/context/_context",
    "features/context/maps": "features/context/_maps",
    "features/context/channels": "features/context/_channels",
    "features/context/patches": "features/context/_patches",
    "features/context/trend": "features/context/_patches",
    "features/context/outlines": "features/context/_shapes",
    "features/context/rays": "features/context/_rays",
    "features/families/__init__": "features/families/__init__",
    "features/families/blob": "features/families/blob",
    "features/families/convergence": "features/families/convergence",
    "features/families/first_order": "features/families/first_order",
    "features/families/fractal": "features/families/fractal",
    "features/families/gabor": "features/families/gabor",
    "features/families/glcm": "features/families/glcm",
    "features/families/inside_minus_ring": "features/families/inside_minus_ring",
    "features/families/laws": "features/families/laws",
    "features/families/lbp": "features/families/lbp",
    "features/families/learned": "features/families/learned",
    "features/families/lung": "features/families/lung",
    "features/families/matrices": "features/families/matrices",
    "features/families/power_law": "features/families/power_law",
    "features/families/profile": "features/families/profile",
    "features/families/ribs": "features/families/ribs",
    "features/families/shape": "features/families/shape",
    "features/families/spiculation": "features/families/spiculation",
    "features/families/symmetry": "features/families/symmetry",
    "features/families/template": "features/families/template",
    "features/families/vessel": "features/families/vessel",
    "features/ibsi/__init__": "features/ibsi/__init__",
    "features/ibsi/levels": "features/ibsi/_levels",
    "features/ibsi/first_order": "features/ibsi/_first_order",
    "features/ibsi/glcm": "features/ibsi/_glcm",
    "features/ibsi/glrlm": "features/ibsi/_runs_zones",
    "features/ibsi/glszm": "features/ibsi/_runs_zones",
    "features/ibsi/counts": "features/ibsi/_runs_zones",
    "features/ibsi/neighbours": "features/ibsi/_neighbours",
    "features/ibsi/ngldm": "features/ibsi/_neighbours",
    "features/ibsi/ngtdm": "features/ibsi/_neighbours",
    "features/ibsi/regions": "features/ibsi/_regions",
    "fields/__init__": "domains/__init__",
    "study/pipeline": "study/_pipeline",
    "candidates/finder": "domains/_finders",
    "candidates/table": "domains/_scale_space",
    "fields/finders": "domains/picture/_finder",
    "candidates/pyramid": "domains/_scale_space",
    "candidates/radii": "domains/_scale_space",
    "candidates/plots": "domains/_plots",
    "fields/plots": "domains/_plots",
    "anatomy/__init__": "domains/chest/__init__",
    "candidates/__init__": "domains/chest/__init__",
    "study/chest_check": "study/_chest_check",
    "anatomy/frontal": "domains/chest/domain",
    "anatomy/search": "domains/chest/_anatomy",
    "anatomy/thorax": "domains/chest/_anatomy",
    "anatomy/lungs": "domains/chest/_lungs",
    "anatomy/lung_model": "domains/chest/_lungs",
    "anatomy/lung_pixels": "domains/chest/_lungs",
    "anatomy/network": "domains/chest/_lungs",
    "anatomy/ribs": "domains/chest/_bones",
    "anatomy/clavicles": "domains/chest/_bones",
    "candidates/curvature": "domains/chest/_search",
    "candidates/search_region": "domains/chest/_search",
    "candidates/curvature_finder": "domains/chest/_finders",
    "candidates/log_finder": "domains/chest/_finders",
    "candidates/_kernels": "domains/chest/_kernels",
    "candidates/ranking": "domains/chest/_ranking",
    "candidates/ranking_features": "domains/chest/_ranking",
    "candidates/surroundings": "domains/chest/_ranking",
    "study/units": "study/_units",
    "fields/field_image": "domains/picture/_image",
    "fields/regions": "domains/picture/_image",
    "fields/smoothing": "domains/picture/_image",
    "fields/blob_finder": "domains/picture/_finder",
    "fields/generic_features": "domains/picture/_features",
    "fields/context_features": "domains/picture/_context_features",
    "fields/surroundings": "domains/picture/_context_features",
    "fields/recipe": "domains/picture/domain",
    "study/field_pipeline": "study/_picture_pipeline",
    "study/field_sections": "study/_settings",
    "study/propose": "study/intake/_suggest",
    "bags/__init__": "bags/__init__",
    "bags/bags": "bags/_bags",
    "bags/grouping": "bags/_grouping",
    "bags/bag_tables": "bags/_grouping",
    "bags/candidate_features": "bags/_grouping",
    "bags/image_facts": "bags/_grouping",
    "bags/validation": "bags/_validation",
    "bags/instances": "bags/_validation",
    "bags/ids": "bags/_validation",
    "bags/labels": "bags/_labels",
    "bags/reader_bags": "bags/_reader_bags",
    "bags/splitting": "bags/_splitting",
    "bags/scoring": "bags/_scoring",
    "bags/per_instance": "bags/_scoring",
    "bags/calibrator": "bags/_calibrator",
    "models/__init__": "models/__init__",
    "models/prediction": "models/_base",
    "models/soft": "models/_soft",
    "models/soft_path": "models/_path",
    "models/preparation": "models/_problem",
    "models/fitting": "models/_problem",
    "models/scaling": "models/_problem",
    "models/report": "models/_report",
    "models/rvm/report": "models/_report",
    "models/penalties/__init__": "models/_penalties",
    "models/penalties/elastic_net": "models/_penalties",
    "models/penalties/l1": "models/_penalties",
    "models/penalties/penalty": "models/_penalties",
    "models/penalties/registry": "models/_penalties",
    "models/mixture": "models/_mixture",
    "models/reader_bootstrap": "models/_mixture",
    "models/boosted": "models/_boosted",
    "models/persistence": "models/_saving",
    "models/fields": "models/_saving",
    "models/onnx_export": "models/_onnx",
    "models/tuning": "models/_tuning",
    "models/plots": "models/_plots",
    "models/_kernels": "models/_kernels",
    "models/_trees": "models/_kernels",
    "models/rvm/_kernels": "models/_kernels",
    "models/loss/__init__": "models/loss/__init__",
    "models/loss/bag_loss": "models/loss/_bag_loss",
    "models/loss/pooling": "models/loss/_bag_loss",
    "models/loss/weights": "models/loss/_bag_loss",
    "models/loss/objective": "models/loss/_objective",
    "models/loss/_kernels": "models/loss/_kernels",
    "models/solver/__init__": "models/solver/__init__",
    "models/solver/newton": "models/solver/_newton",
    "models/solver/curvature": "models/solver/_curvature",
    "models/solver/row_sample": "models/solver/_curvature",
    "models/solver/quadratic": "models/solver/_quadratic",
    "models/solver/duality": "models/solver/_quadratic",
    "models/solver/path": "models/solver/_path",
    "models/solver/_kernels": "models/solver/_kernels",
    "models/rvm/__init__": "models/rvm/__init__",
    "models/rvm/estimator": "models/rvm/_estimator",
    "models/rvm/posterior": "models/rvm/_posterior",
    "models/rvm/information": "models/rvm/_posterior",
    "models/rvm/evidence": "models/rvm/_evidence",
    "models/rvm/screening": "models/rvm/_evidence",
    "models/crowd/__init__": "models/crowd/__init__",
    "models/crowd/votes": "models/crowd/_votes",
    "models/crowd/dawid_skene": "models/crowd/_models",
    "models/crowd/raykar": "models/crowd/_models",
    "models/crowd/skills": "models/crowd/_models",
    "models/crowd/em": "models/crowd/_em",
    "models/crowd/expectation": "models/crowd/_em",
    "models/crowd/intervals": "models/crowd/_intervals",
    "models/crowd/label_information": "models/crowd/_intervals",
    "froc/__init__": "froc/__init__",
    "froc/foreign/__init__": "froc/__init__",
    "froc/matching": "froc/_matching",
    "froc/inputs": "froc/_matching",
    "froc/suppression": "froc/_matching",
    "froc/counting": "froc/_counting",
    "froc/defaults": "froc/_counting",
    "froc/curve": "froc/_curve",
    "froc/operating": "froc/_curve",
    "froc/fp_scale": "froc/_curve",
    "froc/bootstraps": "froc/_bootstrap",
    "froc/intervals": "froc/_bootstrap",
    "froc/_kernels": "froc/_kernels",
    "froc/comparison": "froc/_comparison",
    "froc/setting_choice": "froc/_choice",
    "froc/lambda_choice": "froc/_choice",
    "froc/score_columns": "froc/_choice",
    "froc/choice_plots": "froc/_choice",
    "froc/plots": "froc/_plots",
    "froc/locked": "froc/_locked",
    "froc/reliability": "froc/_calibration",
    "froc/recalibration": "froc/_calibration",
    "froc/strata": "froc/_strata",
    "froc/chance": "froc/_strata",
    "froc/table": "froc/_tables",
    "froc/table_formats": "froc/_tables",
    "froc/scorer": "froc/_scorer",
    "froc/foreign/detections": "froc/_detections",
    "froc/merit/__init__": "froc/merit/__init__",
    "froc/merit/figures_of_merit": "froc/merit/_figures_of_merit",
    "froc/merit/comparison": "froc/merit/_figures_of_merit",
    "froc/merit/verdict": "froc/merit/_figures_of_merit",
    "froc/merit/obuchowski_rockette": "froc/merit/_multi_reader",
    "froc/merit/reader_study": "froc/merit/_multi_reader",
    "simulate/__init__": "simulate/__init__",
    "simulate/readers": "simulate/_readers",
    "simulate/field/field_readers": "simulate/_readers",
    "simulate/cases": "simulate/_cases",
    "simulate/insertion": "simulate/_cases",
    "simulate/distractors": "simulate/_cases",
    "simulate/backgrounds": "simulate/_backgrounds",
    "simulate/reader_fit": "simulate/_reader_fit",
    "simulate/folder_tables": "simulate/_tables",
    "simulate/tables": "simulate/_tables",
    "simulate/recipes": "simulate/_recipes",
    "simulate/field/recipe": "simulate/_recipes",
    "simulate/cohort": "simulate/_cohort",
    "simulate/study_folder": "simulate/_cohort",
    "simulate/nodules": "simulate/_nodules",
    "simulate/varied": "simulate/_nodules",
    "simulate/candidates": "simulate/_candidates",
    "simulate/benchmarks/__init__": "simulate/_frozen",
    "simulate/benchmarks/frozen": "simulate/_frozen",
    "simulate/benchmarks/nih": "simulate/_frozen",
    "simulate/phantom/__init__": "simulate/chest/__init__",
    "simulate/phantom/patient": "simulate/chest/_patient",
    "simulate/phantom/view": "simulate/chest/_patient",
    "simulate/phantom/canvas": "simulate/chest/_canvas",
    "simulate/phantom/_kernels": "simulate/chest/_canvas",
    "simulate/phantom/cage": "simulate/chest/_thorax",
    "simulate/phantom/mediastinum": "simulate/chest/_thorax",
    "simulate/phantom/lungs": "simulate/chest/_thorax",
    "simulate/phantom/trunk": "simulate/chest/_body",
    "simulate/phantom/skeleton": "simulate/chest/_body",
    "simulate/phantom/distractors": "simulate/chest/_distractors",
    "simulate/phantom/exposure": "simulate/chest/_exposure",
    "simulate/phantom/render": "simulate/chest/_render",
    "simulate/field/__init__": "simulate/picture/__init__",
    "simulate/field/field_phantom": "simulate/picture/_phantom",
    "simulate/field/vessels": "simulate/picture/_phantom",
    "simulate/field/lesions": "simulate/picture/_lesions",
    "report/__init__": "report/__init__",
    "report/results": "report/_results",
    "report/description": "report/_results",
    "report/head": "report/_results",
    "report/render": "report/_render",
    "report/csv_links": "report/_render",
    "report/group_page": "report/_render",
    "report/words": "report/_words",
    "report/answer": "report/_words",
    "report/flow": "report/_words",
    "report/lengths": "report/_words",
    "report/model_card": "report/_cards",
    "report/claim": "report/_cards",
    "report/figures": "report/_figures",
    "report/froc_explorer": "report/_figures",
    "report/pictures": "report/_pictures",
    "report/overlay": "report/_pictures",
    "study/__init__": "study/__init__",
    "study/settings": "study/_settings",
    "study/template": "study/_settings",
    "study/inputs": "study/_inputs",
    "study/found_files": "study/_inputs",
    "study/groups": "study/_groups",
    "study/study_marks": "study/_study_marks",
    "study/unit_checks": "study/_study_marks",
    "study/study_recipe": "study/_study_marks",
    "study/cohort": "study/_cohort",
    "study/run": "study/_run",
    "study/run_log": "study/_run",
    "study/resources": "study/_run",
    "study/run_reader": "study/_run_reader",
    "study/detector": "study/_detector",
    "study/score_map": "study/_calibration",
    "study/seen_images": "study/_calibration",
    "detection/batch": "study/_detect",
    "detection/pipeline": "study/_detect",
    "detection/__init__": "study/_detect",
    "detection/documents": "study/_documents",
    "study/image_jobs": "study/_image_jobs",
    "study/store/__init__": "study/_store",
    "study/store/codecs": "study/_store",
    "study/store/manifest": "study/_store",
    "study/store/run_folder": "study/_store",
    "study/store/shard": "study/_store",
    "study/init_study": "study/intake/_make",
    "study/image_findings": "study/intake/_issues",
    "study/image_checks": "study/intake/_issues",
    "study/image_cures": "study/intake/_issues",
    "study/image_columns": "study/intake/_columns",
    "study/import_hint": "study/intake/_columns",
    "study/workers/__init__": "study/executors/__init__",
    "study/workers/result": "study/executors/_outcome",
    "study/workers/messages": "study/executors/_outcome",
    "study/workers/isolation": "study/executors/_isolation",
    "study/workers/worker": "study/executors/_worker",
    "study/workers/executors": "study/executors/_executors",
    "study/workers/dask_cluster": "study/executors/_dask",
    "study/models/__init__": "study/models/__init__",
    "study/models/plug": "study/models/base",
    "study/models/soft": "study/models/soft",
    "study/models/b1": "study/models/b1",
    "study/models/b2": "study/models/b2",
    "study/models/boosted": "study/models/boosted",
    "study/stages/__init__": "study/stages/__init__",
    "study/stages/stage": "study/stages/stage",
    "study/stages/plan": "study/stages/plan",
    "study/stages/truth": "study/stages/truth",
    "study/stages/cohort": "study/stages/cohort",
    "study/stages/images": "study/stages/images",
    "study/stages/tuning": "study/stages/fitting",
    "study/stages/fits": "study/stages/fitting",
    "study/stages/scores": "study/stages/scores",
    "study/stages/calibration": "study/stages/calibration",
    "study/stages/nested": "study/stages/nested",
    "study/stages/evaluation": "study/stages/evaluation",
    "study/stages/comparisons": "study/stages/evaluation",
    "study/stages/summary": "study/stages/evaluation",
    "study/stages/performance": "study/stages/performance",
    "study/stages/verdict": "study/stages/performance",
    "study/stages/reader_points": "study/stages/performance",
    "study/stages/gallery": "study/stages/gallery",
    "study/stages/feature_examples": "study/stages/gallery",
    "study/stages/description": "study/stages/gallery",
    "study/stages/pages": "study/stages/pages",
    "reproduce/__init__": "apps/__init__",
    "reading/__init__": "apps/room/__init__",
    "cli/read": "apps/room/command",
    "cli/demo_read": "apps/room/command",
    "reading/app": "apps/room/_app",
    "reading/page_files": "apps/room/_app",
    "reading/server": "apps/room/_app",
    "reading/mark_values": "apps/room/_values",
    "reading/people": "apps/room/_people",
    "reading/doorkeeper": "apps/room/_gate",
    "reading/rate_limits": "apps/room/_gate",
    "reading/routes": "apps/room/_routes",
    "reading/overview": "apps/room/_routes",
    "reading/room": "apps/room/_room",
    "reading/adjudication": "apps/room/_adjudication",
    "reading/study_settings": "apps/room/_adjudication",
    "reading/store": "apps/room/_store",
    "reading/items": "apps/room/_items",
    "reading/worklists": "apps/room/_worklists",
    "reading/training": "apps/room/_worklists",
    "reading/pixels": "apps/room/_pixels",
    "reading/second_reading": "apps/room/_second_reading",
    "reading/agreement": "apps/room/_agreement",
    "reading/tables": "apps/room/_tables",
    "cli/reader_study": "apps/reader_study/command",
    "reading/reader_study": "apps/reader_study/_analysis",
    "reading/reader_study_page": "apps/reader_study/_analysis",
    "node/__init__": "apps/node/__init__",
    "cli/node": "apps/node/command",
    "node/receiver": "apps/node/_receiver",
    "node/connections": "apps/node/_receiver",
    "node/sender": "apps/node/_sender",
    "node/service": "apps/node/_service",
    "node/worker": "apps/node/_service",
    "node/spool": "apps/node/_spool",
    "node/ledger": "apps/node/_spool",
    "node/settings": "apps/node/_settings",
    "scenario/__init__": "apps/scenario/__init__",
    "cli/scenario": "apps/scenario/command",
    "scenario/run": "apps/scenario/command",
    "scenario/design": "apps/scenario/_design",
    "scenario/material": "apps/scenario/_material",
    "scenario/draw": "apps/scenario/_draw",
    "scenario/sets": "apps/scenario/_draw",
    "scenario/contenders": "apps/scenario/_contenders",
    "scenario/points": "apps/scenario/_points",
    "scenario/measure": "apps/scenario/_points",
    "scenario/results": "apps/scenario/_results",
    "scenario/groups": "apps/scenario/_results",
    "scenario/statistics": "apps/scenario/_results",
    "scenario/overall": "apps/scenario/_results",
    "scenario/per_reader": "apps/scenario/_results",
    "scenario/figures": "apps/scenario/_figures",
    "scenario/page": "apps/scenario/_page",
    "scenario/answer": "apps/scenario/_page",
    "cli/plan": "apps/planning/command",
    "cli/plan_reports": "apps/planning/command",
    "cli/plan_output": "apps/planning/command",
    "froc/merit/pilots": "froc/merit/_planning",
    "froc/merit/planning": "froc/merit/_planning",
    "froc/merit/reader_planning": "apps/planning/_reader_sizes",
    "froc/merit/reader_tables": "apps/planning/_reader_sizes",
    "cli/reproduce": "apps/reproduction/command",
    "reproduce/page": "apps/reproduction/_page",
    "reproduce/paper": "apps/reproduction/_page",
    "cli/__init__": "cli/__init__",
    "cli/froc_inputs": "cli/_froc_inputs",
    "cli/froc": "cli/froc",
    "cli/froc_output": "cli/froc",
    "cli/export_marks": "cli/export_marks",
    "cli/label_studio_folder": "cli/export_marks",
    "cli/import_marks": "cli/import_marks",
    "cli/sheet_dialog": "cli/import_marks",
    "cli/candidates": "cli/candidates",
    "cli/check": "cli/check",
    "cli/compare": "cli/compare",
    "cli/demo": "cli/demo",
    "cli/detect": "cli/detect",
    "cli/explain": "cli/explain",
    "cli/features": "cli/features",
    "cli/init": "cli/init",
    "cli/merge": "cli/merge",
    "cli/readers": "cli/readers",
    "cli/report": "cli/report",
    "cli/run": "cli/run",
    "cli/show": "cli/show",
    "cli/simulate": "cli/simulate",
    "detection/mark_rate": "study/_mark_rate",
    "images/sketch": "images/_sketch",
    "models/columns/waiting": "models/columns/_cluster",
    "reading/connections": "apps/room/_connections",
    "reading/store_check": "apps/room/_store_check",
    "study/near_copies": "study/_near_copies",
    "tables/spelling": "tables/_spelling",
    "images/_jpeg_ls": "images/_jpeg_ls",
    "images/jpeg_ls_data": "images/_jpeg_ls_data",
    "simulate/benchmarks/difficulty": "simulate/_difficulty",
    "simulate/phantom/statistics": "simulate/chest/_statistics",
    "study/forecast": "study/_forecast",
}

RENAMES = {
    ("froc/matching", "match"): "match_detections",
    ("froc/comparison", "compare"): "compare_models",
    ("features/extraction", "extract"): "extract_features",
    ("models/persistence", "load"): "load_model",
    ("models/persistence", "save"): "save_model",
    ("simulate/readers", "panel"): "reader_panel",
    ("simulate/cohort", "field_cohort"): "picture_cohort",
    ("fields/field_image", "FieldImage"): "PictureImage",
    ("fields/field_image", "read_field"): "read_picture",
    ("images/pictures", "read_picture"): "read_grey_picture",
    ("fields/plots", "field_figure"): "picture_figure",
    ("froc/suppression", "find_strongest"): "non_max_suppression",
    ("froc/fp_scale", "place_on_fp_scale"): "to_fp_scale",
    ("study/seen_images", "SeenImages"): "TrainingFingerprints",
    ("study/score_map", "ScoreMap"): "ScoreCalibration",
    ("models/columns/held", "HeldColumns"): "MemoryColumns",
    ("models/columns/stored", "StoredColumns"): "FileColumns",
    ("models/columns/spread", "SpreadColumns"): "ClusterColumns",
    ("simulate/nodules", "NoduleLaw"): "NoduleDistribution",
    ("simulate/cases", "CaseLaw"): "CaseDistribution",
    ("simulate/varied", "VariedLaw"): "VariedDistribution",
    ("one_line", "print_as_one_line"): "short_repr",
    ("study/resources", "reckon_demand"): "estimate_resources",
    ("study/resources", "give_advice"): "warn_if_short",
    ("simulate/field/recipe", "FieldRecipe"): "PictureRecipe",
    ("simulate/field/recipe", "FieldLaw"): "PictureDistribution",
    ("simulate/field/field_phantom", "FieldPhantom"): "PicturePhantom",
    ("simulate/field/field_phantom", "field_phantom"): "picture_phantom",
    ("study/stages/comparisons", "compare_models"): "compare_all_models",
    ("scenario/overall", "_tell"): "_describe_overall",
    ("scenario/results", "_tell"): "_describe_result",
    ("anatomy/clavicles", "FLOOR"): "CLAVICLE_FLOOR",
    ("anatomy/ribs", "FLOOR"): "RIB_FLOOR",
    ("candidates/curvature_finder", "keep_apart"): "_keep_distance",
    ("anatomy/lung_pixels", "SMOOTHING_MM"): "PIXEL_SMOOTHING_MM",
    ("candidates/surroundings", "PRESMOOTHING"): "SURROUNDINGS_PRESMOOTHING",
    ("fields/regions", "LEAST_SHARE"): "LEAST_REGION_SHARE",
    ("fields/smoothing", "LEAST_SHARE"): "LEAST_WEIGHT",
    ("froc/setting_choice", "ROUNDING"): "SETTING_ROUNDING",
    ("simulate/field/field_readers", "Place"): "PicturePlace",
    ("simulate/field/recipe", "ANATOMY_BITS"): "PICTURE_ANATOMY_BITS",
    ("simulate/field/recipe", "anatomy_bits"): "_picture_anatomy_bits",
    ("simulate/field/recipe", "distractor_rows"): "_picture_distractor_rows",
}

PUBLIC = set(
    """Bags
BlobFinder
BoostedBags
CATALOGUE
CalibratedSoftClassifier
CaseDistribution
CaseRatings
Counting
DawidSkene
Detector
DistanceHit
ElasticNet
Ellipse
EllipseHit
FrocScorer
L1
LabelOptions
MarkSet
MergeOptions
NoduleDistribution
OverlapHit
PerInstance
PictureImage
RVMMIL
Radiograph
RaykarCrowd
ReaderMixture
ReaderPilot
SoftCalibrator
SoftMILLogisticRegression
SoftMILObjective
SoftMILPath
SoftStratifiedGroupKFold
Spacings
StoredInstances
VarianceComponents
afroc_curve
bootstrap
calibration
candidate_cohort
candidate_hits
case_ratings
chance_level
choose_setting
cohort
compare_figures
compare_models
display_image
estimate_figures
export_onnx
extract_features
extract_generic
figure_of_merit
find_anatomy
find_candidates
froc_curve
from_array
glcm_features
gts_for_half_width
gts_needed
load_model
lock_operating_point
make_bags
marks_figure
match_detections
mean_soft_kl
merge_marks
obuchowski_rockette
open_run
operating_points
out_of_fold
overlap_area
performance_table
phantom
picture_cohort
picture_figure
plot_afroc
plot_froc
plot_path
quantize
read_detections
read_folder
read_foreign_truth
read_image
read_marks
read_picture
read_settings
read_table
reader_panel
reader_statistics
reader_study
run_study
save_model
score_table
sensitivity_at
sensitivity_by
soft_kl_scorer
soft_labels
split_by_patient
texture_features
votes_from_marks
votes_on_bags
write_columns
write_folder
write_marks""".split()
)
PLUGINS = set(
    """CandidateFinder
Catalogue
Context
FAMILIES
FINDERS
FORMATS
Family
Feature
FinderEntry
HIT_RULES
HitRule
Inputs
MODELS
MarkSetBuilder
N_ANGLES
PENALTIES
Penalty
SLACK
Section
Stage
StudyModel
band_mean
candidate_table
describe_features
empty_figure
fill_padding
find_peaks
lies_on_image
make_hit_rule
parse_number
read_cells
rule_parameter
save_figure
search_region
sector_means
stack_columns""".split()
)
FLAT_CHOICE = {
    "out_of_fold": "bags/scoring",
    "read_detections": "froc/foreign/detections",
    "read_image": "images/reading",
    "reader_study": "froc/merit/reader_study",
}
PLUGIN_CHOICE = {"FORMATS": "marks/importing", "SLACK": "truth/hit_rules"}
