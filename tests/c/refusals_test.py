"""tensorcast_last_refusal through ctypes: every remedy that a function of C can meet, whole.

SPDX-License-Identifier: Apache-2.0
"""

import ctypes
import errno
import os
import pathlib
import struct
import sys
import tempfile
import threading
import unittest

import refused_files

BAD_INPUT, FILE_ERROR = 23, 20


class Refusal(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("code", ctypes.c_int32), ("remedy", ctypes.c_int32),
                ("system_error", ctypes.c_int32), ("subject", ctypes.c_void_p), ("subject_bytes", ctypes.c_uint64),
                ("text", ctypes.c_void_p), ("text_bytes", ctypes.c_uint64)]


def last_refusal():
    refusal = Refusal(struct_size=ctypes.sizeof(Refusal))
    assert LIBRARY.tensorcast_last_refusal(ctypes.byref(refusal)) == 0
    texts = []
    for text, size in ((refusal.subject, refusal.subject_bytes), (refusal.text, refusal.text_bytes)):
        texts.append(ctypes.string_at(text, size + 1))
        assert texts[-1].endswith(b"\0")
    return refusal.code, refusal.remedy, refusal.system_error, *(text[:-1].decode() for text in texts)


def convert(source, output, pattern="", to=refused_files.FLOAT32, overwrite=0):
    return LIBRARY.tensorcast_convert_file(os.fsencode(source), os.fsencode(output), pattern.encode(), to, 1, 0, 1,
                                           overwrite, None, None, None)


class Refusals(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name).resolve()
        refused_files.write(self.folder)

    def test_every_remedy(self):
        # The functions of C take no rules and no patterns that leave tensors out.
        met = {"none", "match_rule", "match_excluded", "match_selected", "match_names"}
        for word, (source, output, pattern, subject) in refused_files.CONVERSIONS.items():
            with self.subTest(word):
                to = refused_files.INT32 if word == "leave_out" else refused_files.FLOAT32
                status = convert(self.folder / source, self.folder / output, pattern, to)
                self.assertNotEqual(status, 0)
                code, remedy, number, about, text = last_refusal()
                self.assertEqual((code, remedy), (status, refused_files.remedies()[word]), text)
                self.assertEqual(about, refused_files.subject_in(self.folder, subject))
                self.assertEqual(number, errno.EEXIST if word == "allow_overwriting" else 0)
                said = ctypes.create_string_buffer(1024)
                self.assertEqual(LIBRARY.tensorcast_last_error(said, 1024, None), 0)
                self.assertTrue(said.value.decode().startswith(text), said.value)
                met.add(word)
        self.assertEqual(met, set(refused_files.remedies()))

    def test_what_the_system_refuses(self):
        missing = self.folder / "missing.npy"
        self.assertEqual(convert(missing, self.folder / "out.npy"), FILE_ERROR)
        code, remedy, number, about, text = last_refusal()
        self.assertEqual((code, remedy, number, about), (FILE_ERROR, 0, errno.ENOENT, str(missing)))
        self.assertEqual(text, f"{missing}: cannot be opened: No such file or directory")
        # A refusal stays until the next, and is its thread's own.
        self.assertEqual(convert(self.folder / "two.safetensors", self.folder / "out.npz"), 0)
        self.assertEqual(last_refusal()[3], str(missing))
        seen = []
        thread = threading.Thread(target=lambda: seen.append(last_refusal()))
        thread.start()
        thread.join()
        self.assertEqual(seen, [(0, 0, 0, "", "")])

    def test_sizes_of_the_struct(self):
        convert(self.folder / "two.safetensors", self.folder / "out.npz", "nosuch")
        self.assertEqual(LIBRARY.tensorcast_last_refusal(None), 3)
        for size, status in ((0, 17), (3, 17), (4097, 17), (8, 0), (64, 0)):
            given = ctypes.create_string_buffer(b"\xff" * 64, 64)
            struct.pack_into("=I", given, 0, size)
            self.assertEqual(LIBRARY.tensorcast_last_refusal(given), status)
            if status == 0:
                self.assertEqual(struct.unpack_from("=Ii", given), (size, BAD_INPUT))
                self.assertEqual(given.raw[size:], b"\xff" * (64 - size))
                self.assertEqual(given.raw[48:size], bytes(max(0, size - 48)))


if __name__ == "__main__":
    LIBRARY = ctypes.CDLL(sys.argv.pop())
    LIBRARY.tensorcast_convert_file.argtypes = [
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, *[ctypes.c_int32] * 5, *[ctypes.c_void_p] * 3]
    LIBRARY.tensorcast_last_error.argtypes = [ctypes.c_char_p, ctypes.c_uint64, ctypes.c_void_p]
    unittest.main()
