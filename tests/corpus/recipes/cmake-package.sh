# tool: cmake
# how: a project that needs a library that is not installed
# decisive: Could not find a package configuration file provided by "Ceres"
prepare() {
cat > CMakeLists.txt <<'X'
cmake_minimum_required(VERSION 3.20)
project(survey LANGUAGES C CXX)
find_package(Threads REQUIRED)
find_package(Ceres 2.0 REQUIRED)
add_executable(survey main.cpp)
target_link_libraries(survey Ceres::ceres Threads::Threads)
X
echo 'int main() {}' > main.cpp
}
run() { cmake -B build -S .; }
