from __future__ import annotations

from overread.images import image_files


def test_images_are_found_by_ending_or_content_in_all_folders(tmp_path):
    dicom = bytes(128) + b"DICM"
    files = {
        "b.PNG": b"",
        "deep/er/a.dcm": b"",
        "deep/1.2.840.3": dicom,
        "deep/IM0001": dicom,
        "deep/runs/c.tif": b"",
        "runs/main/overlay.png": b"",
        "known/mask.png": b"",
        ".hidden/d.png": b"",
        ".e.png": b"",
        "readme.txt": b"text",
        "IM0002": b"text",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "folder.png").mkdir()
    found = [path.relative_to(tmp_path).as_posix() for path in image_files(tmp_path)]
    assert sorted(found) == ["b.PNG", "deep/1.2.840.3", "deep/IM0001", "deep/er/a.dcm", "deep/runs/c.tif"]
