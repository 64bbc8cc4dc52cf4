// The process where the system is Windows: UTF-8 in and out, Ctrl-C and the closing of the window.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef NOMINMAX  // which libstdc++ may have defined already
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
// After it.
#include <psapi.h>
#include <shellapi.h>

#include <fcntl.h>
#include <io.h>

#include <filesystem>
#include <system_error>

#include "files/error.h"
#include "shell/process.h"

namespace tensorcast::tool {
namespace {

HANDLE HandleOf(std::FILE* stream) {
  return reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stream)));
}

std::string Narrow(const wchar_t* wide) {
  const int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
  std::string text(static_cast<std::size_t>(size), '\0');
  WideCharToMultiByte(CP_UTF8, 0, wide, -1, text.data(), size, nullptr, nullptr);
  text.resize(text.find('\0'));
  return text;
}

// The system calls what is registered on a thread of its own.
std::atomic<void (*)(int)> interrupt_handler{nullptr};
std::atomic<bool> interrupts_once{false};

BOOL WINAPI Interrupt(DWORD event) {
  void (*const handler)(int) =
      interrupts_once.load() ? interrupt_handler.exchange(nullptr) : interrupt_handler.load();
  if (handler == nullptr) return FALSE;  // the system ends the process
  handler(0);
  // When this returns, the system ends the process of a window that closes: main is to end it.
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(INFINITE);
  return TRUE;
}

// The earliest there is.
[[gnu::constructor]] void BeforeMain() { ExitWhereMemoryEnds(); }

}  // namespace

// What the C library gives to main is in the system's code page.
std::vector<std::string> Arguments(int, char**) {
  int count = 0;
  LPWSTR* const all = CommandLineToArgvW(GetCommandLineW(), &count);
  std::vector<std::string> arguments;
  for (int i = 1; all != nullptr && i < count; ++i) arguments.push_back(Narrow(all[i]));
  LocalFree(all);
  return arguments;
}

void HoldStandardStreams() {
  for (std::FILE* const stream : {stdin, stdout, stderr}) {
    if (_fileno(stream) >= 0) _setmode(_fileno(stream), _O_BINARY);
    // Escape sequences move the cursor and colour.
    DWORD mode = 0;
    if (stream != stdin && GetConsoleMode(HandleOf(stream), &mode) != 0) {
      SetConsoleMode(HandleOf(stream), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
  }
  SetConsoleOutputCP(CP_UTF8);
}

bool IsConsole(std::FILE* stream) {
  DWORD mode = 0;
  return _fileno(stream) >= 0 && GetConsoleMode(HandleOf(stream), &mode) != 0;
}

std::size_t ConsoleColumns(std::FILE* stream) {
  CONSOLE_SCREEN_BUFFER_INFO screen = {};
  if (GetConsoleScreenBufferInfo(HandleOf(stream), &screen) == 0) return 0;
  return static_cast<std::size_t>(screen.srWindow.Right - screen.srWindow.Left + 1);
}

void IgnoreSignalsOfWriting() {}  // there are none

void ExitAtOnce(std::string_view last_words, int code) {
  DWORD written = 0;
  WriteFile(GetStdHandle(STD_ERROR_HANDLE), last_words.data(),
            static_cast<DWORD>(last_words.size()), &written, nullptr);
  TerminateProcess(GetCurrentProcess(), static_cast<UINT>(code));
  std::_Exit(code);
}

void OnInterrupts(void (*handler)(int), bool once) {
  static const BOOL registered = SetConsoleCtrlHandler(Interrupt, TRUE);
  static_cast<void>(registered);
  interrupts_once.store(once);
  interrupt_handler.store(handler);
}

std::uint64_t PeakMemory() {
  PROCESS_MEMORY_COUNTERS counters = {};
  return K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters) != 0
             ? counters.PeakWorkingSetSize
             : 0;
}

TemporaryPlace PlaceOfTemporaries() {
  std::error_code none;
  return {std::filesystem::temp_directory_path(none).string(), "; TMP names another directory"};
}

std::string PathOfStandardInput(const TemporaryPlace&) {
  throw files::Error(core::ErrorKind::kUnsupported, "-: stdin is not read on Windows; name a file");
}

std::string MakeTemporaryDirectory(const TemporaryPlace&) {
  throw files::Error(core::ErrorKind::kUnsupported,
                     "-o -: stdout takes no tensors on Windows; name a file");
}

}  // namespace tensorcast::tool
