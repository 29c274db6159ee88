"""Move and merge the modules of a tree by a map; imports, strings and tests follow. Text edits on syntax trees."""

from __future__ import annotations
import ast, builtins, collections, json, pathlib, re, subprocess, sys
from dataclasses import dataclass, field
from plan import FLAT_CHOICE, MODULES, PLUGIN_CHOICE, PLUGINS, PUBLIC, RENAMES

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src" / "overread"
DRY = "--dry" in sys.argv


def dotted(path):  # 'froc/curve' -> overread.froc.curve
    d = "overread." + path.replace("/", ".")
    d = d.removesuffix(".__init__")
    return "overread" if d == "overread.__init__" else d


@dataclass
class Mod:
    path: str  # old path without .py
    text: str
    tree: ast.Module
    new: str = ""  # new path without .py
    defs: dict = field(default_factory=dict)  # module-level defined names -> node
    imports: list = field(default_factory=list)  # (node, type_checking, toplevel)

    @property
    def dotted(self):
        return dotted(self.path)

    @property
    def newdotted(self):
        return dotted(self.new)

    @property
    def is_pkg(self):
        return self.path.endswith("__init__")


def top_statements(body, guard=False):
    for node in body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from top_statements(node.body, True)
        else:
            yield node, guard


def names_of_target(t):
    if isinstance(t, ast.Name):
        yield t.id
    elif isinstance(t, (ast.Tuple, ast.List)):
        for e in t.elts:
            yield from names_of_target(e)
    elif isinstance(t, ast.Starred):
        yield from names_of_target(t.value)


def load():
    mods = {}
    for p in sorted(SRC.rglob("*.py")):
        path = str(p.relative_to(SRC))[:-3]
        text = p.read_text()
        tree = ast.parse(text)
        m = Mod(path, text, tree)
        for node, guard in top_statements(tree.body):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
                m.defs[node.name] = node
            elif isinstance(node, ast.Assign):
                for t in node.targets:
                    for n in names_of_target(t):
                        m.defs[n] = node
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                m.defs[node.target.id] = node
            elif isinstance(node, ast.TypeAlias if hasattr(ast, "TypeAlias") else ()):
                m.defs[node.name.id] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                m.imports.append((node, guard, True))
            elif isinstance(node, (ast.Try, ast.With, ast.For, ast.If)):
                print("ODD", path, node.lineno)
        topnodes = {id(n) for n, _, _ in m.imports}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in topnodes:
                m.imports.append((node, False, False))
        mods[path] = m
    return mods


def offsets(text):
    out = [0]
    for line in text.encode().splitlines(keepends=True):
        out.append(out[-1] + len(line))
    return out


class Editor:
    def __init__(self, text):
        self.raw = text.encode()
        self.off = offsets(text)
        self.edits = []

    def pos(self, line, col):
        return self.off[line - 1] + col

    def replace(self, node, new):
        self.edits.append(
            (self.pos(node.lineno, node.col_offset), self.pos(node.end_lineno, node.end_col_offset), new.encode())
        )

    def replace_span(self, a, b, new):
        self.edits.append((a, b, new.encode()))

    def drop_lines(self, node):
        end = self.pos(node.end_lineno, node.end_col_offset)
        nl = self.raw.find(b"\n", end)
        nl = len(self.raw) if nl < 0 else nl + 1
        self.edits.append((self.pos(node.lineno, 0), nl, b""))

    def apply(self):
        raw = self.raw
        edits = sorted(set(self.edits), key=lambda e: (e[0], -e[1]))
        kept = []
        for a, b, new in edits:
            if kept and a < kept[-1][1]:
                assert b <= kept[-1][1], ("overlap", self.raw[a:b], kept[-1])
                continue
            kept.append((a, b, new))
        for a, b, new in reversed(kept):
            raw = raw[:a] + new + raw[b:]
        return raw.decode()


# ---------------------------------------------------------------- name resolution: global references of a module
class GlobalRefs(ast.NodeVisitor):
    """Name nodes that refer to module globals (scopes by symtable rules, computed here)."""

    def __init__(self):
        self.stack = []
        self.refs = collections.defaultdict(list)

    def locals_of(self, node):
        names, globs = set(), set()
        args = getattr(node, "args", None)
        if args:
            for a in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
                if a is not None:
                    names.add(a.arg)

        def walk(n, top=False):
            for child in ast.iter_child_nodes(n):
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    names.add(child.name)
                    for d in child.decorator_list:
                        visit_expr(d)
                    continue
                if isinstance(child, ast.Lambda):
                    continue
                if isinstance(child, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                    for w in ast.walk(child):
                        if isinstance(w, ast.NamedExpr):
                            names.add(w.target.id)
                    continue
                visit_expr(child)
                walk(child)

        def visit_expr(child):
            if isinstance(child, ast.Name) and isinstance(child.ctx, (ast.Store, ast.Del)):
                names.add(child.id)
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                for a in child.names:
                    names.add((a.asname or a.name).split(".")[0])
            elif isinstance(child, ast.ExceptHandler) and child.name:
                names.add(child.name)
            elif isinstance(child, ast.Global):
                globs.update(child.names)
            elif isinstance(child, (ast.MatchAs, ast.MatchStar)) and child.name:
                names.add(child.name)
            elif isinstance(child, ast.MatchMapping) and child.rest:
                names.add(child.rest)

        for stmt in node.body if isinstance(node.body, list) else [node.body]:
            if isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(stmt.name)
                continue
            visit_expr(stmt)
            walk(stmt)
        return names - globs

    def note(self, name, node):
        for kind, names in reversed(self.stack):
            if name in names and (kind == "f" or (kind, names) is self.stack[-1] or self.stack[-1] == (kind, names)):
                return
        self.refs[name].append(node)

    def visit_Name(self, node):
        self.note(node.id, node)

    def visit_Global(self, node):
        for n in node.names:
            self.refs[n].append(("global", node))

    def func(self, node):
        for d in node.decorator_list:
            self.visit(d)
        a = node.args
        for d in [*a.defaults, *[k for k in a.kw_defaults if k]]:
            self.visit(d)
        for x in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]:
            if x is not None and x.annotation:
                self.visit(x.annotation)
        if node.returns:
            self.visit(node.returns)
        self.stack.append(("f", self.locals_of(node)))
        for s in node.body:
            self.visit(s)
        self.stack.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = func

    def visit_Lambda(self, node):
        a = node.args
        for d in [*a.defaults, *[k for k in a.kw_defaults if k]]:
            self.visit(d)
        names = {x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg] if x is not None}
        self.stack.append(("f", names))
        self.visit(node.body)
        self.stack.pop()

    def visit_ClassDef(self, node):
        for d in [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]:
            self.visit(d)
        self.stack.append(("c", self.locals_of(node)))
        for s in node.body:
            self.visit(s)
        self.stack.pop()

    def comp(self, node):
        names = set()
        for g in node.generators:
            names.update(names_of_target(g.target))
        self.visit(node.generators[0].iter)
        self.stack.append(("f", names))
        for i, g in enumerate(node.generators):
            if i:
                self.visit(g.iter)
            for c in g.ifs:
                self.visit(c)
        for f in ("elt", "key", "value"):
            if hasattr(node, f):
                self.visit(getattr(node, f))
        self.stack.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comp


def global_refs(tree):
    v = GlobalRefs()
    v.visit(tree)
    return v.refs


# ---------------------------------------------------------------- main
mods = load()
files = set(mods)
table, purposes, PRIVACY = MODULES, {}, True
for path in files:
    if path not in table:
        print("UNMAPPED", path)
        sys.exit(1)
for path, m in mods.items():
    m.new = table[path]
by_dotted = {m.dotted: m for m in mods.values()}
groups = collections.defaultdict(list)
for m in mods.values():
    groups[m.new].append(m)
packages_old = {m.dotted for m in mods.values() if m.is_pkg}


def top_package(new):  # 'models/loss/_x' -> 'models'
    return new.split("/")[0] if "/" in new else ""


# where a name that is imported from an old module (or old package) really lives: (Mod, name)
def home(module, name, seen=()):
    m = by_dotted.get(module)
    if m is None:
        raise KeyError(module)
    if name in m.defs and not (m.is_pkg and name in ("__all__", "__getattr__")):
        return m, name
    for node, guard, top in m.imports:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("overread"):
            for a in node.names:
                if (a.asname or a.name) == name and (node.module, a.name) not in seen:
                    sub = node.module + "." + a.name
                    if sub in by_dotted and not has_name(node.module, a.name):
                        return by_dotted[sub], None
                    return home(node.module, a.name, (*seen, (module, name)))
    # lazy homes
    homes = m.defs.get("_HOMES")
    if homes is not None:
        for k, v in lazy_homes(m).items():
            if k == name:
                return home(v, name)
    if module + "." + name in by_dotted:
        return by_dotted[module + "." + name], None
    raise KeyError((module, name))


def has_name(module, name):
    m = by_dotted[module]
    if name in m.defs:
        return True
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module != module
        and any((a.asname or a.name) == name for a in node.names)
        for node, g, t in m.imports
        if t
    )


_lazy = {}


def lazy_homes(m):
    if m.path not in _lazy:
        out = {}
        node = m.defs["_HOMES"]
        value = node.value
        try:
            d = ast.literal_eval(value)
        except Exception:
            d = None
            code = ast.get_source_segment(m.text, value)
            d = eval(code, {})
        for k, v in d.items():
            if isinstance(v, (tuple, list)):
                for name in v:
                    out[name] = k if k.startswith("overread") else m.dotted + "." + k
            else:
                out[k] = v if v.startswith("overread") else m.dotted + "." + v
        _lazy[m.path] = out
    return _lazy[m.path]


LAYERS = [
    "_child_process",
    "errors",
    "_kernel",
    "_text",
    "_terminal",
    "_sections",
    "files",
    "_plots",
    "tables",
    "marks",
    "truth",
    "images",
    "features",
    "domains",
    "bags",
    "models",
    "froc",
    "simulate",
    "report",
    "study",
    "_commands",
    "apps",
    "cli",
    "__init__",
]
rank = {n: i for i, n in enumerate(LAYERS)}


def tops(new):
    return new.split("/")[0]


uses = []  # (user Mod or file, node, guard, top, alias, home Mod, name or None)
unresolved = []


def scan(owner, tree_imports):
    for node, guard, top in tree_imports:
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "overread"
            and not node.level
        ):
            for a in node.names:
                if node.module == "overread" and a.name == "__version__":
                    continue
                sub = node.module + "." + a.name
                try:
                    if node.module in by_dotted and not (sub in by_dotted and not is_exported(node.module, a.name)):
                        h, n = home(node.module, a.name)
                    elif sub in by_dotted:
                        h, n = by_dotted[sub], None
                    else:
                        raise KeyError(sub)
                except KeyError as e:
                    unresolved.append((owner, node.module, a.name))
                    continue
                uses.append((owner, node, guard, top, a, h, n))


def is_exported(module, name):
    m = by_dotted[module]
    if name in m.defs:
        return True
    for node, g, t in m.imports:
        if isinstance(node, ast.ImportFrom):
            for a in node.names:
                if (a.asname or a.name) == name and t:
                    # is it a name or a submodule
                    return True
    return False


for m in mods.values():
    scan(m, m.imports)

others = {}
for top in ("tests", "benchmarks", "docs", "requirements"):
    for p in sorted((ROOT / top).rglob("*.py")):
        if "_build" in p.parts:
            continue
        text = p.read_text()
        tree = ast.parse(text)
        o = Mod(str(p.relative_to(ROOT)), text, tree)
        topset = {id(n) for n, g in top_statements(tree.body)}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                o.imports.append((node, False, id(node) in topset))
        others[o.path] = o
        scan(o, o.imports)
print("unresolved", len(unresolved), [(u[0].path, *u[1:]) for u in unresolved][:40])

# collisions
ncoll = 0
reexport = {
    m.path
    for m in mods.values()
    if m.is_pkg and all(n in ("__all__", "_HOMES", "__getattr__", "__dir__", "_WHERE") for n in m.defs)
}
print("packages with code:", sorted(m.path for m in mods.values() if m.is_pkg and m.path not in reexport))
for new, group in sorted(groups.items()):
    table_ = collections.defaultdict(set)
    for m in group:
        if m.path in reexport:
            continue
        for n in m.defs:
            if n == "__all__":
                continue
            table_[RENAMES.get((m.path, n), n)].add(("def", m.path))
        for node, guard, top in m.imports:
            if not top or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                continue
            for a in node.names:
                local = a.asname or a.name
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("overread"):
                    found = [(h, n) for (o, nn, g, t, al, h, n) in uses if o is m and nn is node and al is a]
                    if not found:
                        table_[local].add(("?", node.module))
                        continue
                    h, n = found[0]
                    if n is None:
                        table_[local].add(("mod", h.new))
                    else:
                        table_[RENAMES.get((h.path, n), n) if local == n else local].add(("def", h.path))
                else:
                    table_[local].add(("ext", getattr(node, "module", None) or "", a.name))
    for n, where in sorted(table_.items()):
        if len(where) > 1:
            print("COLLISION", new, n, sorted(map(str, where)))
            ncoll += 1
print("collisions", ncoll)
# module aliases inside the same group
for o, node, guard, top, a, h, n in uses:
    if n is None and isinstance(o, Mod) and o.path in mods:
        print("MODALIAS", o.path, "->", h.path, "same group" if o.new == h.new else "")
# upward edges and cycles
edges = collections.defaultdict(set)
for o, node, guard, top, a, h, n in uses:
    if o.path not in mods or o.path in reexport:
        continue
    x, y = tops(o.new), tops(h.new)
    if x != y and rank[x] < rank[y]:
        edges[(x, y)].add((o.path, h.path, n, "guard" if guard else "top" if top else "late"))
for k, v in sorted(edges.items()):
    print("UP", k, sorted(v, key=str)[:12])
graph = collections.defaultdict(set)
for o, node, guard, top, a, h, n in uses:
    if o.path in mods and o.path not in reexport and top and not guard and o.new != h.new:
        graph[o.new].add(h.new)


def sccs(graph):
    index, low, stack, on, out, counter = {}, {}, [], set(), [], [0]
    sys.setrecursionlimit(10000)

    def go(v):
        index[v] = low[v] = counter[0]
        counter[0] += 1
        stack.append(v)
        on.add(v)
        for w in graph.get(v, ()):
            if w not in index:
                go(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            c = []
            while True:
                w = stack.pop()
                on.discard(w)
                c.append(w)
                if w == v:
                    break
            if len(c) > 1:
                out.append(c)

    for v in list(graph):
        index.get(v) is None and go(v)
    return out


for c in sccs(graph):
    print("CYCLE", c)
# names exported by two modules of one package to other packages
exported = collections.defaultdict(dict)
clash = set()
for o, node, guard, top, a, h, n in uses:
    if n is None or (o.path in mods and o.path in reexport):
        continue
    x = tops(o.new) if o.path in mods else None
    y = tops(h.new)
    if "/" not in h.new:
        continue
    if x is not None and x != y:
        nn = RENAMES.get((h.path, n), n)
        other = exported[y].setdefault(nn, h.path)
        if other != h.path and (y, nn, *sorted([other, h.path])) not in clash:
            clash.add((y, nn, *sorted([other, h.path])))
for c in sorted(clash):
    print("CLASH", c)
print({k: len(v) for k, v in exported.items()})

if DRY:
    sys.exit()
import shutil, textwrap

use_of = collections.defaultdict(list)  # id(node), id(alias) -> home
for o, node, guard, top, a, h, n in uses:
    use_of[(id(node), id(a))] = (h, n)

# ---- privacy
users = collections.defaultdict(set)  # (home path, name) -> new modules of the package that use it, elsewhere
outside = collections.defaultdict(set)
for o, node, guard, top, a, h, n in uses:
    if n is None:
        continue
    if o.path in mods:
        if o.path in reexport:
            continue
        if o.new != h.new:
            users[(h.path, n)].add(o.new)
    else:
        outside[(h.path, n)].add(o.path.split("/")[0])
aliased = set()  # names reached through a module alias: src keeps them plain
for o, node, guard, top, a, h, n in uses:
    if n is None and o.path in mods:
        local = a.asname or a.name
        for x in ast.walk(o.tree):
            if isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.value.id == local:
                aliased.add((h.path, x.attr))
strings = set()
for m in [*mods.values(), *others.values()]:
    for x in ast.walk(m.tree):
        if (
            isinstance(x, ast.Constant)
            and isinstance(x.value, str)
            and len(x.value) < 120
            and not x.value.startswith(('"', " "))
        ):
            s = x.value
            mm = re.fullmatch(r"(?:[a-z_.]+:)?([A-Za-z_][A-Za-z0-9_]*)", s)
            if mm and m.path in mods:
                strings.add(mm.group(1))
exported_all = set()  # names that an old package listed
for p in reexport | {"froc/__init__", "study/__init__", "truth/__init__"}:
    m = mods[p]
    if "__all__" in m.defs:
        try:
            listed = ast.literal_eval(m.defs["__all__"].value)
        except Exception:
            listed = []
        for name in listed:
            try:
                h, n = home(m.dotted, name)
                exported_all.add((h.path, n or name))
            except KeyError:
                pass
final = dict(RENAMES)  # (old path, name) -> final name
n_private = 0
for m in mods.values():
    if m.path in reexport or m.new.endswith("__init__"):
        continue
    base = m.new.split("/")[-1]
    idents = {x.id for g in groups[m.new] for x in ast.walk(g.tree) if isinstance(x, ast.Name)} | {
        x.name for g in groups[m.new] for x in ast.walk(g.tree) if isinstance(x, (ast.FunctionDef, ast.ClassDef))
    }
    for name, node in m.defs.items():
        key = (m.path, name)
        if key in final or name.startswith("_") or not PRIVACY:
            continue
        if isinstance(node, ast.ClassDef) or not isinstance(node, ast.FunctionDef):
            continue
        if name in PLUGINS or users[key] or key in aliased or name in strings or name in PUBLIC or key in exported_all:
            continue
        if outside[key] & {"docs", "benchmarks"}:
            continue
        if m.path.startswith("cli/") and name == m.path.split("/")[-1]:
            continue
        if "_" + name in idents:
            print("KEPT PLAIN, TAKEN", m.path, name)
            continue
        final[key] = "_" + name
        n_private += 1
print("made private", n_private)


def fin(m, name):
    return final.get((m.path, name), name)


# ---- exports of packages
exports = collections.defaultdict(dict)  # top package -> name -> new module path
NO_EXPORT = {"apps", "cli"}


def export(h, n):
    t = tops(h.new)
    if "/" in h.new and t not in NO_EXPORT:
        exports[t][fin(h, n)] = h.new


for o, node, guard, top, a, h, n in uses:
    if n is None:
        continue
    if o.path in mods and o.path not in reexport and tops(o.new) != tops(h.new):
        export(h, n)
for path, n in exported_all:
    export(mods[path], n)

FLAT_HOME = {}
for m in mods.values():
    if m.path in reexport or m.is_pkg:
        continue
    for n in m.defs:
        f = fin(m, n)
        if f in PUBLIC and (f not in FLAT_HOME or FLAT_CHOICE.get(f) == m.path):
            if f in FLAT_HOME and FLAT_CHOICE.get(f) is None:
                print("FLAT TWICE", f, FLAT_HOME[f], m.path)
            if FLAT_CHOICE.get(f, m.path) == m.path:
                FLAT_HOME[f] = m.path
PLUGIN_HOME = {}
for m in mods.values():
    if m.path in reexport:
        continue
    for n in m.defs:
        if fin(m, n) in PLUGINS and PLUGIN_CHOICE.get(fin(m, n), m.path) == m.path:
            PLUGIN_HOME[fin(m, n)] = m.path
print("PUBLIC not found", sorted(PUBLIC - set(FLAT_HOME)), "PLUGINS not found", sorted(PLUGINS - set(PLUGIN_HOME)))
for n, path in PLUGIN_HOME.items():
    if "/" in mods[path].new:
        exports[tops(mods[path].new)][n] = mods[path].new


def import_line(h, n, local, user_top, for_docs=False):
    """(module, name, asname) under which a user imports a name."""
    if n is None:
        nd = h.newdotted
        pkg, _, last = nd.rpartition(".")
        return (pkg, last, local if local != last else None)
    name = fin(h, n)
    t = tops(h.new)
    if for_docs and name in PUBLIC and FLAT_HOME.get(name) == h.path:
        return ("overread", name, local if local != name else None)
    if for_docs and name in PLUGINS and h.new != "errors":
        return ("overread.plugins", name, local if local != name else None)
    if user_top != t and name in exports.get(t, {}) and exports[t][name] == h.new:
        where = "overread." + t
    else:
        where = h.newdotted
    return (where, name, local if local != name else None)


def render(items):
    by = collections.defaultdict(set)
    for where, name, asname in items:
        by[where].add((name, asname))
    out = []
    for where in sorted(by):
        names = ", ".join(n if not s or s == n else f"{n} as {s}" for n, s in sorted(by[where], key=str))
        out.append(f"from {where} import {names}" if len(names) < 80 else f"from {where} import ({names})")
    return out


DOTTED = re.compile(r"\boverread((?:\.[A-Za-z_][A-Za-z0-9_]*)+)")


def fix_dotted(text):
    def sub(match):
        parts = match.group(1)[1:].split(".")
        for k in range(len(parts), 0, -1):
            old = "overread." + ".".join(parts[:k])
            if old in by_dotted:
                m = by_dotted[old]
                rest = parts[k:]
                if m.is_pkg and rest:
                    try:
                        h, n = home(old, rest[0])
                        if n is not None:
                            t = tops(h.new)
                            name = fin(h, n)
                            where = "overread." + t if exports.get(t, {}).get(name) == h.new else h.newdotted
                            return ".".join([where, name, *rest[1:]])
                    except KeyError:
                        pass
                if rest and (m.path, rest[0]) in final:
                    rest = [final[(m.path, rest[0])], *rest[1:]]
                if m.is_pkg and not rest:
                    return PACKAGE_NEW.get(old, m.newdotted)
                return ".".join([m.newdotted, *rest])
        return match.group(0)

    return DOTTED.sub(sub, text)


PACKAGE_NEW = {}


def refs_renamer(editor, tree, renames):
    if not renames:
        return
    refs = global_refs(tree)
    for old, new in renames.items():
        for node in refs.get(old, ()):
            if isinstance(node, tuple):
                print("GLOBAL STATEMENT", old)
                continue
            editor.replace(node, new)
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef))
            and node.name in renames
            and node in tree.body
        ):
            line = node.lineno
            text = editor.raw[editor.pos(line, 0) :].decode()
            mm = re.search(r"\b(def|class)\s+" + re.escape(node.name) + r"\b", text)
            start = editor.pos(line, 0) + len(text[: mm.end() - len(node.name)].encode())
            editor.replace_span(start, start + len(node.name.encode()), renames[node.name])


def alias_edits(editor, tree, node_use, local, h, same):
    for x in ast.walk(tree):
        if isinstance(x, ast.Attribute) and isinstance(x.value, ast.Name) and x.value.id == local:
            new = fin(h, x.attr)
            if h.is_pkg:
                continue
            if same:
                editor.replace(x, new)
            elif new != x.attr:
                editor.replace(x, f"{local}.{new}")
        if (
            isinstance(x, ast.Call)
            and len(x.args) >= 2
            and isinstance(x.args[0], ast.Name)
            and x.args[0].id == local
            and isinstance(x.args[1], ast.Constant)
            and isinstance(x.args[1].value, str)
        ):
            new = fin(h, x.args[1].value)
            if new != x.args[1].value:
                editor.replace(x.args[1], json.dumps(new))


def in_try(tree, node):
    return any(isinstance(t, ast.Try) and node in t.body for t in ast.walk(tree))


def enclosing(tree, node):
    found = None
    for f in ast.walk(tree):
        if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(x is node for x in ast.walk(f)):
            found = f
    return found


def process(m, own_new, drop_nodes=()):
    """Edits of one file. Gives (text with late imports rewritten and top ones as marks, imports)."""
    ed = Editor(m.text)
    top_items, guard_items, ext = [], [], []
    renames = {n: f for (p, n), f in final.items() if p == m.path and n in m.defs} if m.path in mods else {}
    user_top = tops(own_new) if own_new else None
    marks = []
    for node, guard, top in m.imports:
        is_ours = (
            isinstance(node, ast.ImportFrom)
            and node.module
            and node.module.split(".")[0] == "overread"
            and not node.level
        )
        if not is_ours:
            if own_new and top:
                if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                    (guard_items if guard else ext).append(ast.unparse(node))
                ed.drop_lines(node)
            continue
        items = []
        for a in node.names:
            if node.module == "overread" and a.name == "__version__":
                items.append(("overread", "__version__", a.asname))
                continue
            h, n = use_of[(id(node), id(a))]
            local = a.asname or a.name
            if n is None:
                same = own_new == h.new
                if h.is_pkg and False:
                    pass
                alias_edits(ed, m.tree, node, local, h, same)
                if same:
                    continue
                items.append(import_line(h, None, local, user_top))
                continue
            name = fin(h, n)
            if own_new == h.new and not in_try(m.tree, node):
                if local != name:
                    renames[local] = name
                continue
            line = import_line(h, n, local, user_top, m.path.startswith("docs/"))
            if not a.asname and name != local and local == n:
                line = (line[0], line[1], None)
                holder = enclosing(m.tree, node)
                if holder is None:
                    renames[local] = name
                else:
                    for x in ast.walk(holder):
                        if isinstance(x, ast.Name) and x.id == local:
                            ed.replace(x, name)
            items.append(line)
        if own_new and top:
            (guard_items if guard else top_items).extend(items)
            ed.drop_lines(node)
        else:
            indent = " " * node.col_offset
            lines = render(items)
            key = f"@@{len(marks)}@@"
            marks.append(("\n" + indent).join(lines) if lines else "")
            if lines:
                ed.replace(node, key)
            else:
                ed.drop_lines(node)
    for node in drop_nodes:
        ed.drop_lines(node)
    refs_renamer(ed, m.tree, renames)
    if own_new:
        doc = (
            m.tree.body[0]
            if m.tree.body
            and isinstance(m.tree.body[0], ast.Expr)
            and isinstance(m.tree.body[0].value, ast.Constant)
            and isinstance(m.tree.body[0].value.value, str)
            else None
        )
        if doc is not None:
            ed.drop_lines(doc)
        if "__all__" in m.defs and m.path != "errors":
            ed.drop_lines(m.defs["__all__"])
        for node in m.tree.body:
            if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                if all(isinstance(x, (ast.Import, ast.ImportFrom)) for x in node.body):
                    ed.drop_lines(node)
    text = ed.apply()
    text = fix_dotted(text)
    for i, s in enumerate(marks):
        text = text.replace(f"@@{i}@@", s)
    back = {n: f for n, f in renames.items()}
    if back:
        text = re.sub(
            r"`(" + "|".join(map(re.escape, sorted(back, key=len, reverse=True))) + r")`",
            lambda mm: "`" + back[mm.group(1)] + "`",
            text,
        )
    return text, top_items, guard_items, ext


def docstring_of(m):
    d = ast.get_docstring(m.tree, clean=False) if m.tree.body else None
    return fix_dotted(d) if d else None


outputs = {}
order_in_house = {old: i for i, old in enumerate(table)}
for new, group in sorted(groups.items()):
    members = [m for m in group if m.path not in reexport]
    if new.endswith("__init__"):
        code = [m for m in members if m.is_pkg and m.path not in ("froc/__init__", "__init__")]
        outputs[new] = ("init", group, code)
        if not code:
            continue
        members = code
    deps = {m.path: set() for m in members}
    for o, node, guard, top, a, h, n in uses:
        if o.path in deps and h.path in deps and top and not guard and o is not h:
            deps[o.path].add(h.path)
    ordered, left = [], sorted(members, key=lambda m: order_in_house[m.path])
    while left:
        for m in left:
            if not deps[m.path] - {x.path for x in ordered}:
                ordered.append(m)
                left.remove(m)
                break
        else:
            print("INNER CYCLE", new, [m.path for m in left])
            ordered += left
            left = []
    bodies, tops_, guards, exts = [], [], [], []
    seen_alias = {}
    for m in ordered:
        # identical type aliases are kept once
        dropped = []
        for name, node in m.defs.items():
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and name != "__all__":
                src = ast.get_source_segment(m.text, node)
                if seen_alias.get(name) == src and (m.path, name) not in final:
                    dropped.append(node)
                seen_alias[name] = src
        text, t, g, e = process(m, new, dropped)
        bodies.append(text.strip("\n"))
        tops_ += t
        guards += g
        exts += e
    lead = min(members, key=lambda m: order_in_house[m.path])
    docs = [docstring_of(lead)] + [docstring_of(m) for m in ordered if m is not lead]
    docs = [d.strip() for d in docs if d]
    runtime = {(w, n, s) for w, n, s in tops_}
    guard_ours = [x for x in guards if isinstance(x, tuple) and x not in runtime]
    guard_ext = [x for x in guards if isinstance(x, str) and x not in exts]
    exts = sorted(set(exts))
    if guard_ours or guard_ext:
        exts.append("from typing import TYPE_CHECKING")
    head = (
        '"""'
        + "\n\n".join(docs)
        + ("\n" if len(docs) > 1 or "\n" in docs[0] else "")
        + '"""\n\nfrom __future__ import annotations\n\n'
        if docs
        else "from __future__ import annotations\n\n"
    )
    head += "\n".join(exts) + "\n" + "\n".join(render(runtime)) + "\n"
    if guard_ours or guard_ext:
        head += (
            "if TYPE_CHECKING:\n"
            + textwrap.indent("\n".join(sorted(set(guard_ext)) + render(set(guard_ours))), "    ")
            + "\n"
        )
    text = head + "\n\n" + "\n\n\n".join(b for b in bodies if b) + "\n"
    if new.endswith("__init__"):
        outputs[new] = ("code", text)
    else:
        outputs[new] = ("module", text)

other_out = {}
for path, o in others.items():
    text, *_ = process(o, None)
    other_out[path] = text


# ---- markdown
def fix_markdown(text):
    def block(match):
        code = match.group(2)
        try:
            tree = ast.parse(textwrap.dedent(code))
        except SyntaxError:
            return match.group(0)
        o = Mod("docs/block.md", textwrap.dedent(code), tree)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                o.imports.append((node, False, True))
        before = len(uses)
        scan(o, o.imports)
        for oo, node, guard, top, a, h, n in uses[before:]:
            use_of[(id(node), id(a))] = (h, n)
        try:
            new, *_ = process(o, None)
        except KeyError as e:
            print("MARKDOWN", e)
            return match.group(0)
        return match.group(1) + new.rstrip("\n") + "\n" + match.group(3)

    text = re.sub(r"(```(?:python|py|pycon|\{code-block\} python)\n)(.*?)(```)", block, text, flags=re.S)
    text = fix_dotted(text)

    def path(match):
        old = match.group(1)
        return "src/overread/" + (mods[old].new if old in mods else old) + ".py"

    return re.sub(r"src/overread/([a-z_/]+)\.py", path, text)


md_out = {}
for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]:
    if "_build" in p.parts or p.name == "CHANGELOG.md" or "results" in p.parts:
        continue
    md_out[p] = fix_markdown(p.read_text())

# ---- write
for m in mods.values():
    (SRC / (m.path + ".py")).unlink()
written = set()
for new, out in outputs.items():
    p = SRC / (new + ".py")
    p.parent.mkdir(parents=True, exist_ok=True)
    if out[0] in ("module", "code"):
        p.write_text(out[1])
    written.add(p)
doc_of_pkg = {}
for new, out in outputs.items():
    if out[0] == "init":
        docs = [docstring_of(m) for m in out[1] if docstring_of(m)]
        p = SRC / (new + ".py")
        top = new.count("/") == 1
        name = new.split("/")[0]
        doc = docs[0].strip() if docs else (purposes.get(new) or "Package.")
        if new == "__init__":
            continue
        if top and name in exports and name not in NO_EXPORT:
            p.write_text(
                f'"""{doc}\n"""\n\nimport lazy_loader\n\n__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n'
                if "\n" in doc
                else f'"""{doc}"""\n\nimport lazy_loader\n\n__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n'
            )
        else:
            p.write_text(f'"""{doc}\n"""\n' if "\n" in doc else f'"""{doc}"""\n')
for pkg in {q.parent for q in written}:
    while pkg != SRC.parent:
        if not (pkg / "__init__.py").exists():
            (pkg / "__init__.py").write_text(f'"""{pkg.name}."""\n')
            print("NEW INIT", pkg)
        pkg = pkg.parent
for name, names in exports.items():
    by = collections.defaultdict(list)
    for n, new in names.items():
        rel = "." + new.split("/", 1)[1].replace("/", ".").removesuffix(".__init__")
        by[rel].append(n)
    lines = []
    for rel in sorted(by):
        lines.append(f"from {rel} import (" + ", ".join(f"{n} as {n}" for n in sorted(by[rel])) + ")")
    (SRC / name / "__init__.pyi").write_text("\n".join(lines) + "\n")
# the flat namespace
old_init = mods["__init__"].text
doc = ast.get_docstring(mods["__init__"].tree, clean=False)
version = re.search(r"__version__ = .*", old_init).group(0)
Q = '"' * 3
(SRC / "__init__.py").write_text(
    f"{Q}{doc}{Q}\n\nimport lazy_loader\n\n{version}\n\n__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n"
)


def stub(names, doc=""):
    lines = collections.defaultdict(list)
    for n, path in names.items():
        new = mods[path].new
        lines["." + new.replace("/", ".").removesuffix(".__init__")].append(n)
    return (
        "\n".join(
            f"from {w} import (" + ", ".join(f"{n} as {n}" for n in sorted(ns)) + ")" for w, ns in sorted(lines.items())
        )
        + "\n"
    )


(SRC / "__init__.pyi").write_text(stub(FLAT_HOME) + "\n__version__: str\n")
groups_ = collections.defaultdict(list)
for n, path in PLUGIN_HOME.items():
    new = mods[path].new
    groups_["overread." + tops(new)].append(n)
(SRC / "plugins.py").write_text(
    Q
    + "Protocols, registries and helpers for extensions: families, formats, finders, penalties, models, stages."
    + Q
    + "\n\n"
    + "\n".join(f"from {w} import (" + ", ".join(sorted(ns)) + ")" for w, ns in sorted(groups_.items()))
    + "\n\n__all__ = "
    + repr(sorted(PLUGIN_HOME))
    + "\n"
)
for path, text in other_out.items():
    (ROOT / path).write_text(text)
for p, text in md_out.items():
    p.write_text(text)
for d in sorted(SRC.rglob("*"), reverse=True):
    if (
        d.is_dir()
        and d.name != "__pycache__"
        and not any(x for x in d.rglob("*") if x.is_file() and "__pycache__" not in x.parts)
    ):
        shutil.rmtree(d)
