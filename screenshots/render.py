#!/usr/bin/python3
"""render.py OUT.png [COLUMNSxROWS] < screen: draws the output of `tmux capture-pane -e -p` (text and SGR sequences) as a picture."""
import re
import sys
import unicodedata

from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono{}.ttf"
SIZE, CELL_W, CELL_H = 16, 10, 20
FOREGROUND, BACKGROUND = (208, 208, 208), (16, 16, 20)
BASE = [(0, 0, 0), (205, 49, 49), (13, 188, 121), (229, 229, 16), (36, 114, 200), (188, 63, 188), (17, 168, 205), (204, 204, 204),
        (102, 102, 102), (241, 76, 76), (35, 209, 139), (245, 245, 67), (59, 142, 234), (214, 112, 214), (41, 184, 219), (255, 255, 255)]


def colour(index):
    if index < 16:
        return BASE[index]
    if index < 232:
        index -= 16
        return tuple(0 if v == 0 else 55 + 40 * v for v in (index // 36, index // 6 % 6, index % 6))
    return (8 + 10 * (index - 232),) * 3


class Pen:
    def __init__(self):
        self.reset()

    def reset(self):
        self.fg, self.bg, self.bold, self.dim, self.reverse, self.underline = None, None, False, False, False, False

    def sgr(self, numbers):
        n = [int(x) if x else 0 for x in re.split("[;:]", numbers)]
        while n:
            v = n.pop(0)
            if v == 0: self.reset()
            elif v == 1: self.bold = True
            elif v == 2: self.dim = True
            elif v == 4: self.underline = True
            elif v == 7: self.reverse = True
            elif v == 22: self.bold = self.dim = False
            elif v == 24: self.underline = False
            elif v == 27: self.reverse = False
            elif 30 <= v <= 37: self.fg = colour(v - 30)
            elif 90 <= v <= 97: self.fg = colour(v - 82)
            elif 40 <= v <= 47: self.bg = colour(v - 40)
            elif 100 <= v <= 107: self.bg = colour(v - 92)
            elif v == 39: self.fg = None
            elif v == 49: self.bg = None
            elif v in (38, 48) and n:
                kind = n.pop(0)
                c = colour(n.pop(0)) if kind == 5 else tuple(n.pop(0) for _ in range(3))
                if v == 38: self.fg = c
                else: self.bg = c

    def colours(self):
        fg, bg = self.fg or FOREGROUND, self.bg or BACKGROUND
        if self.reverse:
            fg, bg = bg, fg
        if self.dim:
            fg = tuple((2 * f + b) // 3 for f, b in zip(fg, bg))
        return fg, bg


def block(draw, ch, x, y, fg, bg):
    """Block elements as exact rectangles, so that bars have no gaps. True if drawn."""
    c = ord(ch)
    if 0x2581 <= c <= 0x2588:
        h = round(CELL_H * (c - 0x2580) / 8)
        draw.rectangle((x, y + CELL_H - h, x + CELL_W - 1, y + CELL_H - 1), fg)
    elif 0x2589 <= c <= 0x258F:
        draw.rectangle((x, y, x + round(CELL_W * (0x2590 - c) / 8) - 1, y + CELL_H - 1), fg)
    elif c == 0x2580:
        draw.rectangle((x, y, x + CELL_W - 1, y + CELL_H // 2 - 1), fg)
    elif 0x2591 <= c <= 0x2593:
        share = (c - 0x2590) / 4
        draw.rectangle((x, y, x + CELL_W - 1, y + CELL_H - 1), tuple(round(b + (f - b) * share) for f, b in zip(fg, bg)))
    else:
        return False
    return True


def main():
    text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    rows = text.split("\n")
    columns, height = (int(v) for v in sys.argv[2].split("x")) if len(sys.argv) > 2 else (
        max(len(re.sub("\x1b\\[[0-9;:]*m", "", r)) for r in rows), len(rows))
    image = Image.new("RGB", (columns * CELL_W, height * CELL_H), BACKGROUND)
    draw = ImageDraw.Draw(image)
    plain, heavy = ImageFont.truetype(FONTS.format(""), SIZE), ImageFont.truetype(FONTS.format("-Bold"), SIZE)
    pen = Pen()
    for row, line in enumerate(rows[:height]):
        column = 0
        for piece in re.split("(\x1b\\[[0-9;:]*m|\x1b\\(B|\x0f|\x0e)", line):
            if piece.startswith("\x1b["):
                pen.sgr(piece[2:-1])
                continue
            if piece.startswith("\x1b") or piece in ("\x0e", "\x0f"):
                continue
            for ch in piece:
                wide = 2 if unicodedata.east_asian_width(ch) in "WF" else 1
                x, y = column * CELL_W, row * CELL_H
                fg, bg = pen.colours()
                draw.rectangle((x, y, x + wide * CELL_W - 1, y + CELL_H - 1), bg)
                if ch != " " and not block(draw, ch, x, y, fg, bg):
                    draw.text((x, y), ch, fg, heavy if pen.bold else plain)
                if pen.underline:
                    draw.line((x, y + CELL_H - 2, x + wide * CELL_W - 1, y + CELL_H - 2), fg)
                column += wide
    image.save(sys.argv[1], optimize=True)


main()
