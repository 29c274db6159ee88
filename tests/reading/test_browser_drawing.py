"""What is drawn in a browser is what the tables hold, at any zoom and with pixels of any shape."""

import numpy as np
import pytest

from overread.marks import Ellipse, rescale_ellipses
from overread.tables import read_table
from reading_browser import DELETE, DOTS, HEIGHT, MARKS, WIDTH, ServedRoom, View, write_study

SPACINGS = {"square": (0.2, 0.2), "wide": (0.25, 0.2)}


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    folder = write_study(tmp_path_factory.mktemp("drawing") / "study", SPACINGS)
    with ServedRoom(folder, readers=("Ada", "Ben")) as opened:
        yield opened


@pytest.fixture(scope="module")
def ada(visit, room):
    visitor = visit(room)
    visitor.enter("Ada")
    return visitor


def look(ada, image):
    """Where the picture of an image lies."""
    return View(ada, tuple(side / min(SPACINGS[image]) for side in SPACINGS[image]))


def clear(ada, image):
    """Open an image, delete what a test before left on it, and say where its picture lies."""
    ada.read("Ada", image)
    while ada.count(MARKS):
        ada.press("j", DELETE)
    ada.press("f", "e")
    ada.still()
    ada.saved()
    return look(ada, image)


def come_closer(ada, view, at, steps):
    """Zoom by keys around the pointer, here and there."""
    ada.press(*["+"] * steps)
    ada.still()
    for _ in range(steps):
        view.zoom_at(view.zoom * 1.25, at)


def in_mm(image, ellipse):
    """Ellipse of the square screen plane in mm: the plane's unit is the shorter side of a pixel."""
    return Ellipse(*(value * min(SPACINGS[image]) for value in ellipse[:4]), ellipse[4])


def assert_stored(room, image, ellipse):
    """The last mark of an image is this ellipse of the square screen plane, whose unit is a pixel's shorter side."""
    values = [room.stored("Ada", image)[-1][name] for name in ("x", "y", "rx", "ry", "angle")]
    assert_same(
        Ellipse(*rescale_ellipses([values], *SPACINGS[image])[0].tolist()), in_mm(image, ellipse), image
    )


def assert_same(found, expected, image, tolerance_px=0.1):
    """Every point of the rim is where it should be, in pixels of the finer direction."""
    turns = np.linspace(0, 2 * np.pi, 60)

    def support(ellipse):
        # Support function: for each direction how far the ellipse reaches; equal ones are equal ellipses.
        angle = np.deg2rad(ellipse.angle_deg)
        reach = np.hypot(
            ellipse.semi_major * np.cos(turns - angle), ellipse.semi_minor * np.sin(turns - angle)
        )
        return ellipse.x * np.cos(turns) + ellipse.y * np.sin(turns) + reach

    worst = np.abs(support(found) - support(expected)).max() / min(SPACINGS[image])
    assert worst < tolerance_px


@pytest.mark.parametrize(
    ("image", "closer"),
    [
        ("square", 4),
        ("wide", 0),
        ("wide", 11),
        pytest.param("square", 0, marks=pytest.mark.slow),
        pytest.param("square", 11, marks=pytest.mark.slow),
        pytest.param("wide", 4, marks=pytest.mark.slow),
    ],
)
def test_a_circle_from_its_centre_is_stored_where_it_was_drawn(room, ada, image, closer):
    view = clear(ada, image)
    at = (view.centre[0] + 31.0, view.centre[1] - 47.0)
    ada.mouse("mouseMoved", *at, 0)
    come_closer(ada, view, at, closer)
    start, end = (at[0] - 20.3, at[1] + 11.7), (at[0] + 39.2, at[1] + 41.4)
    ada.drag(start, end)
    ada.saved()
    radius = np.hypot(end[0] - start[0], end[1] - start[1]) / view.zoom
    assert_stored(room, image, (*view.to_units(start), radius, radius, 0.0))


@pytest.mark.parametrize("image", [pytest.param("square", marks=pytest.mark.slow), "wide"])
def test_three_clicks_give_an_oblique_ellipse_that_handles_change(room, ada, image):
    view = clear(ada, image)
    ada.press("t")
    first, second, third = (350.25, 250.5), (470.75, 340.25), (390.0, 330.0)
    for click in (first, second, third):
        ada.click(*click)
    ada.saved()
    (ax, ay), (bx, by), (cx, cy) = (view.to_units(click) for click in (first, second, third))
    angle = np.arctan2(by - ay, bx - ax)
    x, y, half = (ax + bx) / 2, (ay + by) / 2, np.hypot(bx - ax, by - ay) / 2
    width = abs((cx - x) * -np.sin(angle) + (cy - y) * np.cos(angle))
    assert_stored(room, image, (x, y, half, width, np.rad2deg(angle)))

    # The second handle of the short axis, pulled outwards by 20 px of the screen.
    middle = ((first[0] + second[0]) / 2, (first[1] + second[1]) / 2)
    across = np.array([-np.sin(angle), np.cos(angle)])
    south = middle + across * width * view.zoom
    ada.press("v")
    ada.drag(tuple(south), tuple(south + 20 * across))
    ada.saved()
    width += 20 / view.zoom
    assert_stored(room, image, (x, y, half, width, np.rad2deg(angle)))

    # The knob beyond the long axis, to straight above the centre.
    along = np.array([np.cos(angle), np.sin(angle)])
    knob = middle + along * (half * view.zoom + 26)
    ada.drag(tuple(knob), (middle[0], middle[1] - 90))
    ada.saved()
    assert_stored(room, image, (x, y, half, width, 90.0))

    # Carried by its inside.
    ada.drag((middle[0] + 5, middle[1] + 5), (middle[0] - 55.5, middle[1] + 35.25))
    ada.saved()
    moved = (x - 60.5 / view.zoom, y + 30.25 / view.zoom, half, width, 90.0)
    assert_stored(room, image, moved)


@pytest.mark.slow
@pytest.mark.parametrize("image", SPACINGS)
def test_wherever_one_looks_the_stored_ellipse_is_the_drawn_one(room, ada, image):
    """Forty random views, by keys and by panning; a mark in each."""
    clear(ada, image)
    rng = np.random.default_rng(7)
    view = look(ada, image)
    smallest, drawn = min(view.zoom, 1) / 2, 0
    for _ in range(40):
        at = tuple(np.array(view.centre) + rng.uniform(-200, 200, 2))
        steps = int(rng.integers(-4, 7))
        steps = max(steps, int(np.ceil(np.log(smallest / view.zoom) / np.log(1.25))))
        steps = min(steps, int(np.floor(np.log(40 / view.zoom) / np.log(1.25))))
        ada.mouse("mouseMoved", *at, 0)
        ada.press(*["+" if steps > 0 else "-"] * abs(steps))
        for _ in range(abs(steps)):
            view.zoom_at(view.zoom * (1.25 if steps > 0 else 0.8), at)
        ada.still()
        shift = rng.uniform(-150, 150, 2)
        ada.drag(view.centre, tuple(np.add(view.centre, shift)), buttons=4)
        extent = (WIDTH * view.ax, HEIGHT * view.ay)
        # A drag arrives in parts, each of which keeps the middle of the stage on the picture.
        for share in np.diff([0, 0.3, 0.7, 1.0]):
            view.middle = tuple(np.clip(np.array(view.middle) - share * shift / view.zoom, 0, extent))
        ada.still()
        start = tuple(np.array(view.centre) + rng.uniform(-60, 60, 2))
        end = tuple(np.array(start) + rng.choice([-1, 1], 2) * rng.uniform(15, 70, 2))
        x, y = view.to_units(start)
        if not (0 < x < extent[0] and 0 < y < extent[1]):
            continue
        ada.drag(start, end)
        ada.saved()
        radius = np.hypot(end[0] - start[0], end[1] - start[1]) / view.zoom
        assert_stored(room, image, (x, y, min(radius, np.hypot(WIDTH, HEIGHT)), radius, 0.0))
        ada.press(DELETE)
        drawn += 1
    assert drawn > 20


def brightest(picture, near, reach):
    """Centre of the light around a place of the screen, in CSS pixels."""
    left, top = (int(value - reach) for value in near)
    light = picture[top : top + 2 * reach, left : left + 2 * reach].astype(float).sum(axis=2)
    light = np.clip(light - np.median(light) - 60, 0, None)
    rows, columns = np.mgrid[: light.shape[0], : light.shape[1]] + 0.5
    return left + (columns * light).sum() / light.sum(), top + (rows * light).sum() / light.sum()


@pytest.mark.parametrize(
    ("image", "closer"),
    [
        ("square", 0),
        ("wide", 5),
        pytest.param("square", 5, marks=pytest.mark.slow),
        pytest.param("wide", 0, marks=pytest.mark.slow),
    ],
)
def test_the_picture_lies_where_marks_are_taken_to_be(ada, image, closer):
    """Dots of the picture are found on a screenshot where the marks' coordinates place them."""
    view = clear(ada, image)
    for dot in DOTS:
        ada.press("f")
        ada.still()
        view = look(ada, image)
        at = view.to_screen(dot)
        ada.mouse("mouseMoved", *at, 0)
        come_closer(ada, view, at, closer)
        # The probe's and the lens' layers are not in the way: the pointer shows nothing on the picture.
        found = brightest(ada.screenshot(), at, max(6, int(10 * view.zoom)))
        assert np.abs(np.subtract(found, at)).max() < 0.35


# The page's own renderers on a canvas apart: by the shader, by the shader in small tiles, and without WebGL2.
RENDER = """
const [values, shape, view, size, done] = arguments;
const load = (name) => import(new URL(name, document.querySelector('script[src$="app.js"]').src));
Promise.all(["renderers.js", "pixels.js"].map(load)).then(([{ WebGLRenderer, CanvasRenderer }, { Pixels }]) => {
  const stored = shape.channels === 3 ? new Uint8Array(values) : new Uint16Array(values);
  const pixels = new Pixels(stored.buffer, shape);
  done([[WebGLRenderer], [WebGLRenderer, 64], [CanvasRenderer]].map(([Renderer, largest]) => {
    const canvas = Object.assign(document.createElement("canvas"), size);
    const renderer = new Renderer(canvas);
    if (largest) renderer.largest = largest;
    renderer.load(pixels);
    renderer.draw({ invert: false, ...view });
    const copy = Object.assign(document.createElement("canvas"), size).getContext("2d");
    copy.drawImage(canvas, 0, 0);
    return [...copy.getImageData(0, 0, size.width, size.height).data];
  }));
});
"""


def render(ada, values, view, size=None):
    """Pictures (rows, columns, colours) of the three renderers."""
    height, width = values.shape[:2]
    shape = {"height": height, "width": width, "channels": 3 if values.ndim == 3 else 1}
    size = size or {"width": width, "height": height}
    found = ada.browser.execute_async_script(RENDER, values.ravel().tolist(), shape, view, size)
    return np.array(found, dtype=float).reshape(3, size["height"], size["width"], 4)[..., :3]


def test_sixteen_bits_reach_the_screen(ada):
    """A window of 256 values around one of 65,536 shows each of them as a grey of its own."""
    values = np.arange(256, dtype=np.uint16)[None] + 30000
    for shown in render(ada, values, {"x": 0, "y": 0, "sx": 1, "sy": 1, "low": 30000, "span": 255}):
        assert np.abs(shown[0, :, 0] - np.arange(256)).max() <= 1
        assert len(np.unique(shown)) >= 254


def test_one_to_one_shows_each_pixel_as_it_is_in_colour_too(ada):
    rng = np.random.default_rng(1)
    view = {"x": 0, "y": 0, "sx": 1, "sy": 1, "low": 0, "span": 255}
    for values in (rng.integers(0, 256, (75, 90)), rng.integers(0, 256, (75, 90, 3))):
        for shown in render(ada, values, view):
            expected = values if values.ndim == 3 else values[..., None]
            assert np.abs(shown - expected).max() <= 1


@pytest.mark.parametrize(
    "view",
    [
        {"x": 3.3, "y": 2.1, "sx": 0.3, "sy": 0.3},
        {"x": 0, "y": 0, "sx": 0.66, "sy": 0.66},
        {"x": -400, "y": -300, "sx": 4, "sy": 5},
    ],
    ids=["small", "fitted", "enlarged"],
)
def test_both_ways_to_the_screen_show_the_same_picture(ada, view):
    """The one for machines without WebGL2 beside the shader, with tiles and odd sizes."""
    rows, columns = np.mgrid[:223, :301]
    values = (20000 + 15000 * np.sin(columns / 17) * np.cos(rows / 23)).astype(int)
    size = {"width": 200, "height": 150}
    whole, tiled, plain = render(ada, values, {"low": 0, "span": 40000, **view}, size)
    assert np.abs(whole - tiled).max() <= 1
    # Interpolation differs by a little, most at the picture's edges.
    assert np.percentile(np.abs(whole - plain), 97) <= 6
    assert whole.std() > 20


def test_ellipses_between_pixels_and_the_screen_are_those_of_the_package(ada):
    rng = np.random.default_rng(3)
    rows = np.column_stack(
        [rng.uniform(0, 700, (50, 2)), rng.uniform(1, 90, (50, 2)), rng.uniform(0, 180, 50)]
    )
    found = ada.browser.execute_async_script(
        """
        const [rows, done] = arguments;
        const turn = (rescaled) => ([x, y, rx, ry, angle]) => {
          const e = rescaled({ x, y, rx, ry, angle }, 1.25, 0.8);
          return [e.x, e.y, e.rx, e.ry, e.angle];
        };
        const app = document.querySelector('script[src$="app.js"]').src;
        import(new URL("geometry.js", app)).then(({ rescaled }) => done(rows.map(turn(rescaled))));
        """,
        rows.tolist(),
    )
    expected = rescale_ellipses(rows, 1.25, 0.8)
    assert np.allclose(np.array(found)[:, :4], expected[:, :4], rtol=1e-9)
    turn = np.deg2rad(np.array(found)[:, 4] - expected[:, 4])
    assert np.abs(np.sin(turn)).max() < 1e-7


def test_the_written_tables_hold_the_drawn_ellipse(room, ada):
    """The whole way: drawn, finished, written, read as ``overread run`` reads it."""
    for image in SPACINGS:
        view = clear(ada, image)
        start, end = (420.0, 330.0), (448.5, 351.25)
        ada.drag(start, end)
        ada.press("8")
        ada.finish()
        ada.saved()
        radius = np.hypot(end[0] - start[0], end[1] - start[1]) / view.zoom
        written = {path.name: path for path in room.room.export()}
        marks = read_table(written["marks.csv"], "marks")
        (row,) = marks[marks["image_id"] == image].to_dict("records")
        found = Ellipse(
            *(row[name] for name in ("x_mm", "y_mm", "semi_major_mm", "semi_minor_mm", "angle_deg"))
        )
        assert_same(found, in_mm(image, (*view.to_units(start), radius, radius, 0.0)), image)
        assert (row["reader_id"], row["confidence"]) == ("Ada", 80)
    assert ada.errors() == []
