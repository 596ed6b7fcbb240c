#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
/* Its asserts fail on some wrong files ("[+a]"), for which it has an error as
 * well. */
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <string>
#include <vector>

extern "C" {
#include "passes/plan/toml.h"
}

namespace
{

TomlPlace
place(const toml::source_region &at)
{
    return {int(at.begin.line), int(at.begin.column), int(at.end.line),
            int(at.end.column)};
}

bool
number(const toml::node &node, double *out)
{
    if (auto i = node.as_integer())
        *out = double(i->get());
    else if (auto f = node.as_floating_point())
        *out = f->get();
    else
        return false;
    return true;
}

bool
pairs(const toml::array &list, std::vector<double> *out)
{
    for (const toml::node &node : list) {
        const toml::array *pair = node.as_array();
        double x[2];
        if (!pair || pair->size() != 2 || !number((*pair)[0], &x[0]) ||
            !number((*pair)[1], &x[1]))
            return false;
        out->insert(out->end(), x, x + 2);
    }
    return true;
}

void
give(const TomlReader *r, TomlEntry *e, const toml::node &node)
{
    std::vector<double> list;
    e->at = place(node.source());
    if (number(node, &e->number)) {
        e->kind = TOML_NUMBER;
    } else if (auto text = node.as_string()) {
        e->kind = TOML_TEXT;
        e->text = text->get().c_str();
    } else if (auto array = node.as_array(); array && pairs(*array, &list)) {
        e->kind = TOML_PAIRS;
        e->pairs = list.data();
        e->n_pairs = int(list.size() / 2);
    } else {
        e->kind = TOML_OTHER;
    }
    r->entry(r->user, e);
}

/* name: of the table, "" at the top. */
void
walk(const TomlReader *r, const std::string &name, const toml::table &table)
{
    for (auto &&[key, node] : table) {
        std::string word{key.str()};
        TomlEntry e = {};
        e.key_at = place(key.source());
        if (const toml::table *inner = node.as_table()) {
            std::string path = name.empty() ? word : name + "." + word;
            e.table = path.c_str();
            e.at = place(inner->source());
            r->entry(r->user, &e);
            walk(r, path, *inner);
        } else {
            e.table = name.c_str();
            e.key = word.c_str();
            give(r, &e, node);
        }
    }
}

} // namespace

extern "C" void
toml_read(const char *text, size_t n, const TomlReader *r)
{
    toml::parse_result all = toml::parse(std::string_view{text, n});
    if (all) {
        walk(r, "", all.table());
        return;
    }
    std::string why{all.error().description()};
    r->error(r->user, place(all.error().source()), why.c_str());
}
