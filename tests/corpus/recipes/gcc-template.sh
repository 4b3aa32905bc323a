# tool: g++
# how: a container of a type that cannot be compared, in eight places
# decisive: no match for ‘operator<’
# decisive: registry.cpp:8:
prepare() {
cat > registry.cpp <<'X'
#include <map>
#include <set>
#include <string>
#include <algorithm>
#include <vector>
struct point { int x, y; };
template <class K> struct registry { std::map<K, std::string> names; void add(K k, std::string s) { names[k] = s; } };
void used(registry<point> &r) { r.add(point{1, 2}, "a"); }
void sorted(std::vector<point> &v) { std::sort(v.begin(), v.end()); std::make_heap(v.begin(), v.end()); }
bool has(std::set<point> &s) { return s.count(point{3, 4}); }
X
}
run() { g++ -std=c++20 -c registry.cpp; }
