// Runs a target where the compiler has no libFuzzer: every file of the corpus, then changes of them, for some seconds.
// usage: TARGET SECONDS CORPUS_FOLDER...   It knows nothing of coverage; a failing input is left as `crash`.
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <sanitizer/common_interface_defs.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

Input changed(const std::vector<Input> &corpus, std::mt19937_64 &draw) {
  Input made = corpus[draw() % corpus.size()];
  for (std::size_t left = 1 + draw() % 6; left > 0; --left) {
    const std::size_t at = made.empty() ? 0 : draw() % made.size();
    switch (draw() % 5) {
    case 0:
      made.insert(made.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint8_t>(draw()));
      break;
    case 1:
      if (!made.empty())
        made.erase(made.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 2: { // a piece of another
      const Input &other = corpus[draw() % corpus.size()];
      const std::size_t from = other.empty() ? 0 : draw() % other.size();
      made.insert(made.begin() + static_cast<std::ptrdiff_t>(at), other.begin() + static_cast<std::ptrdiff_t>(from),
                  other.end());
      break;
    }
    default:
      if (!made.empty())
        made[at] = draw() % 3 ? static_cast<std::uint8_t>(draw()) : made[draw() % made.size()];
    }
  }
  if (made.size() > 4096)
    made.resize(4096);
  return made;
}

const Input *present = nullptr;

// Called when the process dies, by a sanitizer or by a broken law.
void keep_present() {
  if (present)
    std::ofstream("crash", std::ios::binary)
        .write(reinterpret_cast<const char *>(present->data()), static_cast<std::streamsize>(present->size()));
}

void run(const Input &input) {
  present = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  present = nullptr;
}

} // namespace

int main(int argc, char **argv) {
  __sanitizer_set_death_callback(keep_present);
  std::signal(SIGABRT, [](int) { keep_present(); });
  std::vector<Input> corpus(1);
  for (int k = 2; k < argc; ++k)
    for (const auto &file : std::filesystem::directory_iterator(argv[k])) {
      std::ifstream in(file.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  for (const Input &input : corpus)
    run(input);
  std::mt19937_64 draw(std::random_device{}());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  std::size_t runs = corpus.size();
  for (; std::chrono::steady_clock::now() < end; ++runs)
    run(changed(corpus, draw));
  std::printf("%zu runs without a fault\n", runs);
}
