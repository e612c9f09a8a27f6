# SPDX-License-Identifier: Apache-2.0
"""Five programs of Debian that work for a second or more, and say the same each time.

Each function makes the program's input in a folder, and returns the command and the files that it
writes there.
"""
import re
import subprocess

SQL = """
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 420000)
    insert into t select i, 'row ' || (i * 7919 % 100003), i % 977 from n;
create index tb on t(b);
select count(*), sum(length(x.b)) from t x join t y on x.b = y.b where x.c < 100;
select c, count(*), max(b) from t group by c order by 2 desc, 1 limit 3;
"""

PYTHON = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

class Number:
    def __init__(self, x):
        self.x = x
    def __lt__(self, other):
        return self.x < other.x

numbers = sorted(Number(i * 7919 % 100003) for i in range(120000))
counts = {}
for i in range(400000):
    counts[str(i % 5000)] = counts.get(str(i % 5000), 0) + 1
print(fib(30), numbers[5].x, len(counts))
"""

PERL = r"""
my (%h, $s);
for my $i (1 .. 4500000) {
    my $k = "k" . ($i % 1000);
    $h{$k} .= chr(65 + $i % 26) if length($h{$k} // '') < 100;
    $s += ($k =~ /7+(\d)/) ? $1 : 1;
}
my @l = sort { $h{$a} cmp $h{$b} or $a cmp $b } keys %h;
print "$s $l[0] $l[-1]\n";
"""

C_FUNCTION = """
static struct node *insert_%(i)d(struct node *root, struct node *n)
{
    struct node **at = &root;
    while (*at && (*at)->key != n->key + %(i)d)
        at = (*at)->key < n->key ? &(*at)->left : &(*at)->right;
    n->left = n->right = *at;
    *at = n;
    return root;
}
unsigned hash_%(i)d(const unsigned char *text, unsigned size, struct node *nodes)
{
    unsigned h = %(i)du * 2654435761u, table[%(size)d] = {%(i)d};
    for (unsigned i = 0; i < size; i++) {
        h = (h ^ text[i]) * 16777619u;
        switch (text[i] %% 7) {
        case 0: table[i %% %(size)d] += h; break;
        case 1: h += table[h %% %(size)d]; break;
        case 2: nodes = insert_%(i)d(nodes, nodes + (h & 7)); break;
        case 3: h = h << 5 | h >> 27; break;
        default: table[i %% %(size)d] ^= nodes->key;
        }
    }
    for (unsigned i = 0; i < %(size)d; i++)
        h += table[i] / (i + %(i)du + 1);
    return h;
}
"""


def sqlite3(folder):
    (folder / "work.sql").write_text(SQL)
    return ["sqlite3", ":memory:", f".read {folder}/work.sql"], []


def python(folder):
    (folder / "work.py").write_text(PYTHON)
    return ["/usr/bin/python3", folder / "work.py"], []


def perl(folder):
    (folder / "work.pl").write_text(PERL)
    return ["perl", folder / "work.pl"], []


def cc1(folder):
    source = folder / "large.c"
    functions = [C_FUNCTION % {"i": i, "size": 16 + i % 48} for i in range(80)]
    source.write_text("struct node { unsigned key; struct node *left, *right; };\n"
                      + "".join(functions))
    path = subprocess.run(["gcc", "-print-prog-name=cc1"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    return [path, "-quiet", "-O2", source, "-o", folder / "large.s"], ["large.s"]


def openssl(folder):
    del folder
    return ["openssl", "speed", "-seconds", "1", "-bytes", "4096", "sha256", "sha512", "md5"], []


PROGRAMS = {"sqlite3": sqlite3, "python": python, "cc1": cc1, "perl": perl, "openssl": openssl}


def without_measurements(text):
    """openssl speed prints how fast it was, in columns that shorter numbers are padded to."""
    text = re.sub(r"CPUINFO:.*", "", text)
    # With the space before them: a column is as wide as its number. On a busy machine nothing was done.
    return re.sub(r"\s*(?:[0-9.]+|-?inf|-?nan)k?s?", " N", text)
