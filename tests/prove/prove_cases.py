"""Questions with the verdicts that they must get: verdict, how it is decided, arguments, part of the counterexample."""

from __future__ import annotations

PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"

SWIZZLED = "S<3,3,3> o 0 o (64,64):(64,1)"
REFERENCE = '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(64,64):(64,1)">'
LOW_REFERENCE = '!cute.memref<f16, smem, align<128>, S<3,4,3>, "(64,64):(64,1)">'
ODD_COLUMNS = ["(32,32):(?d,1)", "--tv", "(32,32):(1,32)", "--element", "f32", "--access", "ld.shared.b32", "--assume"]
ACCUMULATOR = "((4,8),(2,2)):((2@1,1@0),(1@1,8@0))"  # of mma.sync.m16n8k16

EQUIVALENT = [
    (PROVED, "algebra", ["(4,8):(8,1)", "(4,(2,4)):(8,(1,2))"], {}),
    (PROVED, "algebra", ["(4,8):(1,4)", "32:1"], {}),
    (PROVED, "algebra", ["((2,2),8):((8,16),1)", "(4,8):(8,1)"], {}),
    (PROVED, "algebra", ["S<3,3,3> o 8 o (8,8):(8,1)", "S<3,3,3> o 8 o (8,(2,4)):(8,(1,2))"], {}),
    (PROVED, "algebra", ["S<0,3,3> o 0 o (8,8):(8,1)", "(8,8):(8,1)"], {}),
    (PROVED, "enumeration", ["S<1,4,3> o 0 o (8,8):(8,1)", "(8,8):(8,1)"], {}),
    (PROVED, "enumeration", ["(16):(1) o 4 o (2,4):(1,2)", "4:1 o 4 o 8:1"], {}),
    (PROVED, "algebra", ["(4,3):(1@0,1@1)", "((2,2),3):((1@0,2@0),1@1)"], {}),
    (
        REFUTED,
        "algebra",
        ["(4,3):(1@0,1@1)", "(4,3):(1@0,2@1)"],
        {"index": 4, "offset_1": "(0,1)", "offset_2": "(0,2)"},
    ),
    (
        REFUTED,
        "algebra",
        ["(4,8):(8,1)", "((2,2),8):((8,17),1)"],
        {"index": 2, "coordinate_1": "(2,0)", "coordinate_2": "((0,1),0)", "offset_1": 16, "offset_2": 17},
    ),
    (REFUTED, "algebra", ["(4,8):(8,1)", "(6,8):(8,1)"], {"size_1": 32, "size_2": 48}),
    (REFUTED, "enumeration", [SWIZZLED, "(64,64):(64,1)"], {"index": 1, "offset_1": 72, "offset_2": 64}),
    # One swizzle on element indices, the other on byte addresses: one function, where the base is aligned to it.
    (PROVED, "algebra", [SWIZZLED, REFERENCE, "--element", "f16"], {}),
    (
        REFUTED,
        "enumeration",
        [SWIZZLED, LOW_REFERENCE, "--element", "f16"],
        {"base": 128, "byte_1": 128, "byte_2": 144},
    ),
    (REFUTED, "enumeration", [SWIZZLED, REFERENCE, "--element", "f32"], {"index": 1, "byte_1": 288, "byte_2": 144}),
    # Dynamic leaves.
    (PROVED, "algebra", ["(?,8):(8,1)", "(?,8):(8,1)"], {}),
    (PROVED, "algebra", ["(?,8):(8,1)", "(?,(2,4)):(8,(1,2))"], {}),
    (PROVED, "algebra", ["(?{div=8},?):(1,?{i64 div=8})", "(?{div=8},?):(1,?{i64 div=8})"], {}),
    (PROVED, "algebra", ["(?m,?n):(1,?m)", "(?m,?n):(1,?d)", "--assume", "d == m"], {}),
    (PROVED, "algebra", ["(?m,?n):(1,?d)", "(?m,?n):(1,?e)", "--assume", "d >= e", "--assume", "e >= d"], {}),
    (REFUTED, "algebra", ["(?m,?n):(1,?m)", "(?m,?n):(1,?d)"], {"?m": 1, "?n": 2, "?d": 0, "offset_1": 1}),
    (PROVED, "algebra", ["(?m{div=16},8):(8,1)", "((16,?n),8):((8,128),1)", "--assume", "m == 16*n"], {}),
    (REFUTED, "algebra", ["(?m{div=16},8):(8,1)", "((16,?n),8):((8,128),1)"], {"?m": 16, "?n": 2, "size_1": 128}),
    (PROVED, "z3", ["S<3,4,3> o 0 o (8,?n):(1,?d{div=1024})", "(8,?n):(1,?d{div=1024})"], {}),
    (PROVED, "z3", ["S<3,4,3> o 0 o (8,?n):(1,2048)", "(8,?n):(1,2048)"], {}),
    (PROVED, "enumeration", ["S<2,4,3> o 0 o (8,8):(1,?d{div=8})", "(8,8):(1,?d{div=8})", "--assume", "d <= 9"], {}),
    # Only from the 4097th row on does the swizzle move anything, or only far beyond what is enumerated.
    (REFUTED, "enumeration", ["S<1,0,16> o 0 o (?m):(16)", "(?m):(16)"], {"?m": 4097, "index": 4096}),
    (REFUTED, "z3", ["S<1,0,30> o 0 o (?m):(16)", "(?m):(16)"], {}),
    # Leaves that count on from each other are one.
    (PROVED, "algebra", ["(?m,6):(1,?m)", "(3,?n):(1,3)", "--assume", "6*m == 3*n"], {}),
    (PROVED, "algebra", ["(?m{div=8},?n):(1,?m)", "(?k):(1)", "--assume", "k == m*n"], {}),
    (PROVED, "algebra", ["(?m,?n):(1,?d)", "(?m,?n):(1,?e)", "--assume", "d - e == 0"], {}),
    (
        REFUTED,
        "algebra",
        ["(?m,?n):(1,?d)", "(?m,?n):(1,?e)", "--assume", "d % 16 == 8", "--assume", "e % 16 == 8"],
        {"?m": 1, "?n": 2},
    ),
    # Too large to enumerate.
    (REFUTED, "z3", ["S<3,4,3> o 0 o (1048576,1048576):(1048576,1)", "(1048576,1048576):(1048576,1)"], {}),
    (PROVED, "z3", ["S<1,4,30> o 0 o (16777216,32):(32,1)", "(16777216,32):(32,1)"], {}),
]

INJECTIVE = [
    (PROVED, "algebra", ["(16,?a):(65,72)"], {}),  # multiples of 65 and 72 meet after 72 steps of 65
    (PROVED, "algebra", ["(4,8):(8,1)"], {}),
    (PROVED, "algebra", ["(4,8):(-8,1)"], {}),
    (PROVED, "enumeration", ["(3,2):(2,3)"], {}),
    (PROVED, "algebra", [SWIZZLED], {}),
    (PROVED, "algebra", [REFERENCE], {}),
    (PROVED, "algebra", [ACCUMULATOR], {}),
    (PROVED, "algebra", ["1:0"], {}),
    (
        REFUTED,
        "enumeration",
        ["(4,2):(1,2)"],
        {"coordinate_1": "(2,0)", "coordinate_2": "(0,1)", "index_1": 2, "index_2": 4},
    ),
    (
        REFUTED,
        "enumeration",
        ["(4,(2,3)):(1,(0,4))"],
        {"coordinate_1": "(0,(0,0))", "coordinate_2": "(0,(1,0))", "offset": 0},
    ),
    (REFUTED, "enumeration", ["(4,3):(1@0,0@1)"], {"offset": "(0,0)", "coordinate_2": "(0,1)"}),
    (REFUTED, "enumeration", ["2:0 o 0 o 4:1"], {}),
    (PROVED, "algebra", ["(?m,?n):(1,?ld)", "--assume", "ld >= m"], {}),
    (PROVED, "algebra", ["(?m,?n):(1,?m)"], {}),
    (PROVED, "algebra", ["(?m,?n):(?c,?d)", "--assume", "c >= 1", "--assume", "d >= c*m"], {}),
    (PROVED, "algebra", ["(3,2,?n):(2,3,?d)", "--assume", "d > 7"], {}),
    (PROVED, "algebra", ["(4,?n):(1,?{div=4})", "--assume", "n == 1"], {}),
    (REFUTED, "enumeration", ["(4,?n):(1,?{div=4})"], {"?n": 2, "?0": 0, "coordinate_2": "(0,1)"}),
    (REFUTED, "enumeration", ["(?m,?n):(1,?ld)", "--assume", "ld + 1 >= m", "--assume", "ld > 0"], {"?n": 2}),
    (
        REFUTED,
        "enumeration",
        ["(?m{div=16},?n):(1,?d{div=8})", "--assume", "d > 0"],
        {"?m": 16, "?n": 2, "?d": 8, "offset": 8},
    ),
    (PROVED, "algebra", ["(8,?n):(1,?d)", "--assume", "d % 8 == 0", "--assume", "d > 0"], {}),
    # Subtraction, names and remainders; the least values that show a fault.
    (PROVED, "algebra", ["(?m,?n):(?ld,1)", "--assume", "ld - n >= 8"], {}),
    (PROVED, "algebra", ["(?m,?n):(?ld,1)", "--assume", "n - ld <= 0"], {}),
    (PROVED, "algebra", ["(?m,?n):(?ld,1)", "--assume", "pad = ld - n", "--assume", "pad >= 0"], {}),
    (PROVED, "algebra", ["(?m,?n):(?ld,1)", "--assume", "ld % 16 == 8", "--assume", "n <= 8"], {}),
    (PROVED, "algebra", ["(?m,?n):(?ld,1)", "--assume", "ld / 8 * 8 >= n"], {}),
    (
        REFUTED,
        "enumeration",
        ["(?m,?n):(?ld,1)", "--assume", "ld % 16 == 8", "--assume", "n <= 9"],
        {"?m": 2, "?n": 9, "?ld": 8},
    ),
    (
        REFUTED,
        "enumeration",
        ["(?m,?n):(?ld,1)", "--assume", "pad = ld - n", "--assume", "pad >= 0 - 1", "--assume", "n > 1"],
        {"?m": 2, "?n": 2, "?ld": 1, "pad": -1},
    ),
    (REFUTED, "enumeration", ["(?m,?n):(3,13)"], {"?m": 16, "?n": 4, "offset": 39}),
    (REFUTED, "enumeration", ["(?m,?n):(?ld,7)", "--assume", "ld >= 100"], {}),
    (REFUTED, "z3", ["(1048576,1048576):(1048575,1)"], {}),
    (REFUTED, "z3", ["(" + ",".join(["2"] * 40) + "):(" + ",".join(["1"] * 40) + ")"], {}),
]

BIJECTIVE = [
    (PROVED, "algebra", ["(4,8):(8,1)"], {}),
    (PROVED, "algebra", ["S<3,3,3> o 0 o (8,64):(64,1)"], {}),
    (PROVED, "enumeration", ["S<3,3,3> o 0 o (8,10):(10,1)"], {}),
    (REFUTED, "enumeration", ["S<3,3,3> o 0 o (8,9):(1,8)"], {"coordinate": "(0,8)", "offset": 72}),
    (REFUTED, "enumeration", ["(4,8):(9,1)"], {"coordinate": "(3,5)", "offset": 32}),
    (REFUTED, "enumeration", ["(4,8):(8,-1)"], {"offset": -1}),
    (REFUTED, "enumeration", ["(4,2):(1,2)"], {"coordinate_1": "(2,0)", "coordinate_2": "(0,1)"}),
    (PROVED, "algebra", ["(8,?m):(?m,1)"], {}),
    (PROVED, "algebra", ["(4,?m,8):(1,4,?d)", "--assume", "d == 4*m"], {}),
    (PROVED, "algebra", ["S<3,3,3> o 0 o (8,?m{div=64}):(1,8)"], {}),
    (REFUTED, "enumeration", ["(8,?m):(1,?d{div=8})"], {"?m": 2, "?d": 0}),
]

COVERS = [
    (REFUTED, "algebra", ["(1000000,1000000):(1000000,1)", "64"], {"size": 10**12, "elements": 64}),
    (PROVED, "algebra", [ACCUMULATOR, "(16,8)"], {}),
    (PROVED, "algebra", ["(32,4):(1,32)", "(16,8)"], {}),
    (PROVED, "algebra", ["S<1,1,1> o 0 o (4,2):(2,1)", "(2,4)"], {}),
    (REFUTED, "enumeration", [ACCUMULATOR, "(16,16)"], {"offset": "(0,8)"}),
    (REFUTED, "enumeration", [ACCUMULATOR, "(8,8)"], {"coordinate": "((0,0),(0,1))", "offset": "(8,0)"}),
    (REFUTED, "enumeration", ["((4,8),(2,2)):((2@1,1@0),(1@1,0@0))", "(16,8)"], {"coordinate_2": "((0,0),(0,1))"}),
    (REFUTED, "enumeration", ["4:1@0", "(4,2)"], {"offset": "(0,1)"}),
    (PROVED, "algebra", ["4:1@0", "(4,1)"], {}),
    (PROVED, "algebra", ["(4,3):(1@0@1,1@1@1)", "(1,(4,3))"], {}),
    (PROVED, "algebra", ["(4,3):(1@1,4@1)", "(1,(4,3))"], {}),
    # Broadcast: 32 lanes hold the same 8 values.
    (REFUTED, "enumeration", ["(32,8):(0,1)", "8"], {"coordinate_1": "(0,0)", "coordinate_2": "(1,0)"}),
    (PROVED, "algebra", ["(32,8):(0,1)", "8", "--at-least-once"], {}),
    (PROVED, "enumeration", ["(4,4):(1,2)", "10", "--at-least-once"], {}),
    (REFUTED, "enumeration", ["(4,4):(2,4)", "19", "--at-least-once"], {"offset": 1}),
    (REFUTED, "enumeration", ["(4,4):(1,2)", "9", "--at-least-once"], {"coordinate": "(3,3)", "offset": 9}),
    (PROVED, "algebra", ["(4,?m):(1,4)", "64", "--assume", "m == 16"], {}),
    (REFUTED, "enumeration", ["(4,?m):(1,4)", "64"], {"?m": 1, "offset": 4}),
]

# BUGS 15: a swizzle with base 3 on byte addresses tears the rows of 16 bytes that ldmatrix reads; base 4 does not, nor
# base 3 on the indices of 2-byte elements.
ALIGNED = [
    (
        REFUTED,
        "enumeration",
        ["(64,16):(16,1)", "--swizzle", "S<1,3,3>", "--vector", "8", "--element", "bf16"],
        {"coordinate": "(2,0)", "index": 2, "byte": 72},
    ),
    (PROVED, "enumeration", ["(64,16):(16,1)", "--swizzle", "S<1,4,3>", "--vector", "8", "--element", "bf16"], {}),
    (
        PROVED,
        "enumeration",
        ["S<1,3,3> o 0 o (64,16):(16,1)", "--vector", "8", "--element", "bf16", "--bytes", "16"],
        {},
    ),
    (
        REFUTED,
        "enumeration",
        ["(64,16):(16,1)", "--swizzle", "S<1,3,3>", "--vector", "8", "--element", "bf16", "--bytes", "8"],
        {"coordinate": "(2,0)", "other_coordinate": "(2,4)", "byte": 72, "other_byte": 64, "expected_byte": 80},
    ),
    (PROVED, "enumeration", [SWIZZLED, "--vector", "8", "--element", "f16"], {}),
    (
        REFUTED,
        "enumeration",
        [SWIZZLED, "--vector", "16", "--element", "f16", "--bytes", "16"],
        {"other_coordinate": "(1,8)"},
    ),
    (
        REFUTED,
        "enumeration",
        [SWIZZLED, "--vector", "8", "--element", "f16", "--mode", "0"],
        {"other_coordinate": "(1,0)"},
    ),
    (PROVED, "enumeration", ["(12,4):(1,16)", "--vector", "4", "--element", "f32"], {}),
    (REFUTED, "enumeration", ["(12,4):(1,16)", "--vector", "8", "--element", "f16"], {"coordinate": "(8,0)"}),
    (REFUTED, "enumeration", ["(12,4):(1,12)", "--vector", "4", "--element", "f16", "--bytes", "16"], {"byte": 8}),
    (PROVED, "enumeration", ["((2,4),3):((1,2),16)", "--vector", "4", "--element", "f32"], {}),
    (PROVED, "enumeration", ["((6,4),3):((1,6),32)", "--vector", "4", "--element", "f32"], {}),
    (PROVED, "enumeration", [LOW_REFERENCE, "--vector", "8"], {}),
    (
        REFUTED,
        "enumeration",
        ['!cute.memref<f16, smem, align<8>, S<3,4,3>, "(64,64):(64,1)">', "--vector", "8"],
        {"base": 8, "coordinate": "(0,0)", "byte": 8},
    ),
    (
        REFUTED,
        "enumeration",
        ["(8,64):(64,1)", "--vector", "8", "--element", "f16", "--align", "8"],
        {"base": 8, "byte": 8},
    ),
    (PROVED, "enumeration", ["(?,64):(64,1)", "--swizzle", "S<3,4,3>", "--vector", "8", "--element", "bf16"], {}),
    (PROVED, "enumeration", ["(?,64):(?{div=8},1)", "--swizzle", "S<3,4,3>", "--vector", "8", "--element", "bf16"], {}),
    (PROVED, "enumeration", ["(?,?{div=8}):(?{div=8},1)", "--vector", "8", "--element", "bf16"], {}),
    (REFUTED, "enumeration", ["(?,?{div=4}):(?{div=8},1)", "--vector", "8", "--element", "bf16"], {"?1": 4}),
    (
        REFUTED,
        "enumeration",
        ["(?,64):(?{div=4},1)", "--vector", "8", "--element", "bf16"],
        {"?0": 2, "?1": 4, "byte": 8},
    ),
    (
        REFUTED,
        "enumeration",
        ["(?,64):(?{div=8},1)", "--swizzle", "S<3,3,3>", "--vector", "8", "--element", "bf16"],
        {"coordinate": "(0,32)", "byte": 72},
    ),
    # A dynamic step along the run itself.
    (REFUTED, "enumeration", ["(8,4):(?d,8)", "--vector", "8", "--element", "f16", "--mode", "0"], {"?d": 0}),
    (
        PROVED,
        "enumeration",
        ["(8,4):(?d,8)", "--vector", "8", "--element", "f16", "--mode", "0", "--assume", "d == 1"],
        {},
    ),
    # Four bits an element.
    (PROVED, "enumeration", ["(8,64):(64,1)", "--vector", "32", "--element", "f4E2M1FN"], {}),
    (
        REFUTED,
        "enumeration",
        ["(8,33):(33,1)", "--vector", "3", "--element", "e2m1", "--bytes", "1"],
        {"byte": "1 + 4 bits"},
    ),
]

CONFLICT_FREE = [
    (PROVED, "enumeration", [SWIZZLED, "--element", "f16", "--access", "ldmatrix.x4"], {}),
    (PROVED, "enumeration", [REFERENCE, "--access", "stmatrix.x2"], {}),
    (
        REFUTED,
        "enumeration",
        ["(64,64):(64,1)", "--element", "f16", "--access", "ldmatrix.x4"],
        {"degree": 8, "bank": 0, "lanes": [*range(8)], "bytes": [*range(0, 1024, 128)]},
    ),
    (
        REFUTED,
        "enumeration",
        ["S<2,3,3> o 0 o (64,64):(64,1)", "--element", "f16", "--access", "ldmatrix.x1"],
        {"degree": 2, "lanes": [0, 4], "coordinates": ["(0,0)", "(4,0)"], "bytes": [0, 512]},
    ),
    # Rows of 32 and 64 bytes: the narrower swizzles suffice.
    (REFUTED, "enumeration", ["(64,16):(16,1)", "--element", "f16", "--access", "ldmatrix.x2"], {"degree": 2}),
    (PROVED, "enumeration", ["S<1,3,3> o 0 o (64,16):(16,1)", "--element", "f16", "--access", "ldmatrix.x2"], {}),
    (REFUTED, "enumeration", ["(64,32):(32,1)", "--element", "f16", "--access", "ldmatrix.x2"], {"degree": 4}),
    (PROVED, "enumeration", ["S<2,3,3> o 0 o (64,32):(32,1)", "--element", "f16", "--access", "ldmatrix.x2"], {}),
    # Padding instead of a swizzle.
    (PROVED, "enumeration", ["(64,64):(72,1)", "--element", "f16", "--access", "ldmatrix.x4"], {}),
    # M-major: the rows lie along the first mode.
    (PROVED, "enumeration", ["S<3,3,3> o 0 o (64,16):(1,64)", "--element", "f16", "--access", "ldmatrix.x4.trans"], {}),
    # BUGS 15 again: a torn row is no access at all.
    (
        REFUTED,
        "enumeration",
        ["(64,16):(16,1)", "--swizzle", "S<1,3,3>", "--element", "bf16", "--access", "ldmatrix"],
        {"byte": 72},
    ),
    # Each lane its own values: phases of 32, 16 and 8 lanes.
    (PROVED, "enumeration", ["(32,1):(1,0)", "--element", "f32", "--access", "ld.shared.b32"], {}),
    (PROVED, "enumeration", ["(32,2):(2,1)", "--element", "f32", "--access", "ld.shared.v2.f32"], {}),
    (PROVED, "enumeration", ["(32,4):(4,1)", "--element", "f32", "--access", "st.shared.v4.b32"], {}),
    (PROVED, "enumeration", ["(32,8):(8,1)", "--element", "f16", "--access", "ld.shared.b128"], {}),
    (PROVED, "enumeration", ["(32,1):(0,0)", "--element", "f32", "--access", "ld.shared.b32"], {}),
    (PROVED, "enumeration", ["(32,2):(1,32)", "--element", "f16", "--access", "ld.shared.b16"], {}),
    (REFUTED, "enumeration", ["(32,1):(32,0)", "--element", "f32", "--access", "ld.shared.b32"], {"degree": 32}),
    (
        REFUTED,
        "enumeration",
        ["(32,1):(2,0)", "--element", "f32", "--access", "ld.shared.b32"],
        {"degree": 2, "lanes": [0, 16]},
    ),
    (
        REFUTED,
        "enumeration",
        ["(32,4):(8,1)", "--element", "f32", "--access", "ld.shared.v4.f32"],
        {"degree": 2, "lanes": [0, 4]},
    ),
    (
        REFUTED,
        "enumeration",
        ["(32,2):(2,2)", "--element", "f32", "--access", "ld.shared.b64"],
        {"expected_byte": 4, "lane": 0},
    ),
    (PROVED, "enumeration", ["(32,1):(33,0)", "--element", "f32", "--access", "ld.shared.b32"], {}),
    # 48 threads: the last phase is half a warp.
    (REFUTED, "enumeration", ["(48,1):(2,0)", "--element", "f32", "--access", "ld.shared.b32"], {"degree": 2}),
    (PROVED, "enumeration", ["(48,1):(1,0)", "--element", "f32", "--access", "ld.shared.b32"], {}),
    # A thread-value layout into the layout of the memory: a column of a row-major tile, and with padding.
    (
        REFUTED,
        "enumeration",
        ["(32,32):(32,1)", "--tv", "(32,32):(1,32)", "--element", "f32", "--access", "ld.shared.b32"],
        {"degree": 32},
    ),
    (
        PROVED,
        "enumeration",
        ["(32,32):(33,1)", "--tv", "(32,32):(1@0,1@1)", "--element", "f32", "--access", "ld.shared.b32"],
        {},
    ),
    (
        PROVED,
        "enumeration",
        ["S<5,0,5> o 0 o (32,32):(32,1)", "--tv", "(32,32):(1,32)", "--element", "f32", "--access", "ld.shared.b32"],
        {},
    ),
    # Whatever the leading dimension is, as long as it is odd in words.
    (
        PROVED,
        "enumeration",
        [*ODD_COLUMNS, "d % 32 == 1"],
        {},
    ),
    (
        REFUTED,
        "enumeration",
        [*ODD_COLUMNS, "d % 32 == 2"],
        {"?d": 2, "degree": 2, "lanes": [0, 16]},
    ),
    # Dynamic: any number of rows, padded rows, and a stride that may be anything.
    (PROVED, "enumeration", ["S<3,3,3> o 0 o (?{div=8},64):(64,1)", "--element", "f16", "--access", "ldmatrix.x4"], {}),
    (
        PROVED,
        "enumeration",
        ["(?m{div=8},?k{div=64}):(?d{div=8},1)", "--assume", "d == k + 8", "--element", "f16", "--access", "ldmatrix"],
        {},
    ),
    (
        REFUTED,
        "enumeration",
        ["(?m{div=8},?k{div=64}):(?d{div=8},1)", "--assume", "d == k + 16", "--element", "f16", "--access", "ldmatrix"],
        {"degree": 2},
    ),
    (
        REFUTED,
        "enumeration",
        ["(?{div=8},64):(?,1)", "--element", "f16", "--access", "ldmatrix"],
        {"coordinate": "(1,0)", "byte": 2},
    ),
    (
        REFUTED,
        "enumeration",
        ["(?{div=8},64):(?d{div=64},1)", "--swizzle", "S<3,4,3>", "--element", "f16", "--access", "ldmatrix"],
        {"?d": 128, "lanes": [0, 4]},
    ),
]

F16, ROWS = ["--element", "f16", "--access", "ldmatrix.x4"], "(?m{div=8},64):(?ld{div=8},1)"
E4M3 = ["--element", "f8E4M3FN", "--access", "ldmatrix.x4"]
BOTH = "(?m{div=8},?k{div=32}):(?ld{div=8},1)"
EITHER = "(?m{div=8},?k{div=8}):(?ld{div=8},1)"
ACCUMULATORS = ["((4,8),2):((2,?ld{div=2}),1)", "--element", "f32", "--access", "st.shared.v2.f32", "--assume"]
COLUMNS = ["((4,8),1):((?ld,1),1)", "--element", "f32", "--access", "ld.shared.b32", "--assume"]
VECTORS = ["(32,4):(?d{div=4},1)", "--element", "f32", "--access", "ld.shared.v4.f32", "--assume"]

# Leading dimensions as kernels pad them: the fact that is known is a remainder, the size is not.
CONFLICT_FREE += [
    *(
        (PROVED, "enumeration", [ROWS, *F16, "--assume", f"ld % {of} == {left}"], {})
        for of, left in ((16, 8), (32, 8), (32, 24), (64, 40), (128, 72))
    ),
    *(
        (REFUTED, "enumeration", [ROWS, *F16, "--assume", f"ld % {of} == {left}"], {"?m": 8, "?ld": ld, "degree": n})
        for of, left, ld, n in ((16, 0, 16, 2), (32, 16, 16, 2), (64, 32, 32, 4), (64, 0, 64, 8))
    ),
    (PROVED, "enumeration", [ROWS, *F16, "--assume", "ld % 16 != 0"], {}),
    (PROVED, "enumeration", [ROWS, *F16, "--assume", "ld / 8 % 2 == 1"], {}),
    (REFUTED, "enumeration", [ROWS, *F16, "--assume", "ld % 32 != 0"], {"?ld": 16}),
    (PROVED, "enumeration", [BOTH, *F16, "--assume", "ld - k == 8"], {}),
    (PROVED, "enumeration", [BOTH, *F16, "--assume", "ld = k + 8"], {}),
    (PROVED, "enumeration", [BOTH, *F16, "--assume", "pad = ld - k", "--assume", "pad % 16 == 8"], {}),
    (
        REFUTED,
        "enumeration",
        [BOTH, *F16, "--assume", "pad = ld - k", "--assume", "pad == 16"],
        {"degree": 2, "pad": 16},
    ),
    # Two remainders that are related: what the other leaf cannot be is no address, and counts all the same.
    *(
        (verdict, "enumeration", [EITHER, *F16, "--assume", "ld % 16 == (k + 8) % 16", "--assume", other], found)
        for verdict, other, found in (
            (PROVED, "k % 16 == 0", {}),
            (PROVED, "k % 16 != 8", {}),
            (PROVED, "k % 32 == 16", {}),
            (REFUTED, "k % 16 != 0", {"?ld": 16}),
            (REFUTED, "k % 32 != 16", {"?ld": 16}),
        )
    ),
    (PROVED, "enumeration", [EITHER, *F16, "--assume", "ld % 16 != k % 16", "--assume", "k % 16 == 0"], {}),
    (REFUTED, "enumeration", [EITHER, *F16, "--assume", "ld % 32 == k % 32"], {"?ld": 16}),
    (PROVED, "enumeration", ["(?m{div=8},?k{div=32}):(?ld{div=16},1)", *E4M3, "--assume", "ld % 32 == 16"], {}),
    (REFUTED, "enumeration", ["(?m{div=8},?k{div=32}):(?ld{div=16},1)", *E4M3, "--assume", "ld % 64 == 32"], {}),
    (
        PROVED,
        "enumeration",
        ["(?m{div=8},64):(?ld{div=64},1)", *F16, "--swizzle", "S<3,4,3>", "--assume", "ld % 128 == 64"],
        {},
    ),
    (PROVED, "enumeration", [*ODD_COLUMNS, "d % 2 == 1"], {}),
    (REFUTED, "enumeration", [*ODD_COLUMNS, "d % 4 == 2"], {"?d": 2, "degree": 2}),
    (PROVED, "enumeration", [*ACCUMULATORS, "ld % 16 == 8"], {}),
    (REFUTED, "enumeration", [*ACCUMULATORS, "ld % 16 == 4"], {"?ld": 20, "degree": 2}),
    (PROVED, "enumeration", [*COLUMNS, "ld % 16 == 8"], {}),
    (REFUTED, "enumeration", [*COLUMNS, "ld % 16 == 4"], {"?ld": 20}),
    (PROVED, "enumeration", [*VECTORS, "d % 8 == 4"], {}),
    (REFUTED, "enumeration", [*VECTORS, "d % 16 == 8"], {"?d": 8, "degree": 2}),
]

ALIGNED += [
    (
        PROVED,
        "enumeration",
        ["(?m,?k{div=8}):(?d,1)", "--vector", "8", "--element", "f16", "--assume", "d % 8 == 0"],
        {},
    ),
    (
        REFUTED,
        "enumeration",
        ["(?m,?k{div=8}):(?d,1)", "--vector", "8", "--element", "f16", "--assume", "d - k == 4"],
        {"?m": 2, "?k": 8, "?d": 12, "byte": 24},
    ),
]

VACUOUS = [
    (UNKNOWN, None, ["injective", "(?m{div=8}):(2)", "--assume", "m % 8 == 4"], "never holds"),
    (UNKNOWN, None, ["injective", "(?m):(2)", "--assume", "m % 8 == 9", "--assume", "m < 100"], "never holds"),
    (UNKNOWN, None, ["injective", "(?{div=4294967296}):(1)"], "no value"),
    (UNKNOWN, None, ["injective", "(?m):(2)", "--assume", "m >= 5", "--assume", "m < 5"], "no value"),
    (UNKNOWN, None, ["injective", "(?m,?n):(1,?m)", "--assume", "n >= m", "--assume", "m > n"], "contradict"),
    (UNKNOWN, None, ["bijective", "(?m{div=4},2):(1,?m)", "--assume", "m == 6"], "no value"),
    (UNKNOWN, None, ["equivalent", "(?m):(1)", "(?m):(1)", "--assume", "0 > 1"], "never holds"),
    (UNKNOWN, None, ["equivalent", "(?m):(1)", "(?m):(1)", "--assume", "2*m == 7"], "no value"),
]

KINDS = {
    "equivalent": EQUIVALENT,
    "injective": INJECTIVE,
    "bijective": BIJECTIVE,
    "covers": COVERS,
    "aligned": ALIGNED,
    "conflict-free": CONFLICT_FREE,
}

CASES = [
    (verdict, by, [kind, *arguments], found) for kind, cases in KINDS.items() for verdict, by, arguments, found in cases
]
