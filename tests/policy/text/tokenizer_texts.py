"""Texts on which tokenizers differ: code, languages, white space, names of tokens inside words."""

import functools
import os
import pathlib
import random

ROOT = pathlib.Path(__file__).resolve().parents[3]
# The same sentence about a kernel in many scripts; it is the characters that matter.
LANGUAGES = [
    "The kernel adds two vectors.", "Der Kern addiert zwei Vektoren, schön größer.", "Le noyau additionne deux vecteurs à côté.", "El núcleo suma dos vectores; ¿qué más?",
    "O núcleo soma dois vetores, não é?", "Il nucleo somma due vettori, perché no.", "Jądro dodaje dwa wektory, łódź źdźbło.", "Jádro sčítá dva vektory, příliš žluťoučký.",
    "A mag két vektort ad össze, árvíztűrő.", "Nucleul adună doi vectori, țară și șapte.", "Çekirdek iki vektörü toplar, İstanbul ılık.", "Ядро складывает два вектора, ещё ёлка.",
    "Ядро додає два вектори, їжак ґанок.", "Ядрото събира два вектора.", "Ο πυρήνας προσθέτει δύο διανύσματα.", "הגרעין מחבר שני וקטורים.", "النواة تجمع متجهين، ٣٤٥.",
    "هسته دو بردار را جمع می‌کند.", "دانہ دو ویکٹر جوڑتا ہے۔", "कर्नेल दो सदिश जोड़ता है।", "কার্নেল দুটি ভেক্টর যোগ করে।", "ਕਰਨਲ ਦੋ ਵੈਕਟਰ ਜੋੜਦਾ ਹੈ।", "કર્નલ બે સદિશ ઉમેરે છે.",
    "கரு இரண்டு திசையன்களைக் கூட்டுகிறது.", "కెర్నల్ రెండు సదిశలను కలుపుతుంది.", "ಕರ್ನಲ್ ಎರಡು ಸದಿಶಗಳನ್ನು ಕೂಡಿಸುತ್ತದೆ.", "കേർണൽ രണ്ട് സദിശങ്ങൾ കൂട്ടുന്നു.", "කර්නලය දෛශික දෙකක් එකතු කරයි.",
    "เคอร์เนลบวกเวกเตอร์สองตัว", "ເຄີເນວບວກສອງເວັກເຕີ", "ကာနယ်သည် ဗက်တာနှစ်ခုကို ပေါင်းသည်။", "ខឺណែលបូកវ៉ិចទ័រពីរ។", "内核把两个向量相加。", "核心將兩個向量相加，很好。", "カーネルは二つのベクトルを足します。ｶﾀｶﾅ",
    "커널은 두 벡터를 더합니다.", "Hạt nhân cộng hai véc-tơ, tiếng Việt.", "Kernel menjumlahkan dua vektor.", "Idinadagdag ng kernel ang dalawang bektor.", "Kerneli huongeza vekta mbili.", "ከርነሉ ሁለት ቬክተሮችን ይደምራል።",
    "Kjarninn leggur saman tvo vigra, þú ættir.", "Kärnan adderar två vektorer, åäö.", "Ydin laskee yhteen kaksi vektoria.", "Tuum liidab kaks vektorit, õ.", "Kodols saskaita divus vektorus, ā ē.",
    "Branduolys sudeda du vektorius, ė ų.", "Bërthama mbledh dy vektorë.", "Միջուկը գումարում է երկու վեկտոր։", "ბირთვი ორ ვექტორს კრებს.", "Цөм хоёр векторыг нэмнэ.", "ནང་སྙིང་གིས་སྣོན།", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", "ⵜⴰⵎⴰⵣⵉⵖⵜ",
]
ODD = [
    "", " ", "  ", "   ", "\n", "\n\n", " \n ", "\r\n", "\t", "\t\t x", " a", "  a", "a ", "a  ", " a b  c   d    e", "a\u0085b", "a\u00a0b\u00a0\u00a0c", "a\u180eb \u180e", "x\u2000\u2001 y\u3000z", "\u200b\u200d\ufeff",
    "don't DON'T we'LL I'\u017f", "1234567890 12 345 6789", "x1y22z333", "  12", "\u0661\u0662\u0663 \u00bd \u2167 \u00b2", "e\u0301 A\u030a \u1e9b\u0323", "\u1112\u1161\u11ab", "\ufb01 \uff21 \u00bc", "\u2581a \u2581\u2581 b", "a" * 300,
    "ab" * 200, " " * 300, "=" * 200, "\u4e2d" * 100, "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea", "\x01\x02\x1b[0m\x7f", "<0x0A><0x41>", "!?.,;:" * 9, "\ue000\uf8ff", "\U0010ffff", "(a+b)*c[i]->x::y<z>", "a_b-c", "\u2014\u2026\u300c\u300d\uff0c\u3002",
]
ALPHABETS = ["abcdefghij klmnop qrstuv wxyz", "ABC abc 012 3.14 _+-*/(){}[];\n\t", "\u00e4\u00f6\u00fc\u00df \u00e9\u00e8 \u00f1 \u00e7 a", "\u4e2d\u6587\u5b57 \u3042\u3044 \ud55c a1", "\U0001f600\U0001f680\u2728 ok!", "a\u0301e\u0308 \u0323o\u0302",
             "\u00a0\u2003\u3000\u0085 \r\n\tx", "'s't're'll <|>{}\"", "01234 56789,.", "\u2581 a", "\u0430\u0431 \u0394\u03b5 \u0561", "<>/s|[INST] "]


@functools.cache
def code():
    """The texts of this repository's sources. Folders of builds are large and not looked into."""
    files = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [] if folder == str(ROOT / "tests/fuzz/corpus") else sorted(f for f in folders if not f.startswith((".", "build", "runs")))
        files += [pathlib.Path(folder) / name for name in names if folder != str(ROOT) and name.endswith((".cc", ".h", ".cu", ".md", ".py", ".yaml"))]
    return [p.read_text(errors="replace") for p in sorted(files)]


def texts(count, names, seed=1):
    """`count` texts; `names`: of added tokens, which some of them hold."""
    rng = random.Random(seed)
    names = list(names) or ["<none>"]
    files = code()
    made = [*ODD, *LANGUAGES]
    for name in names[:40]:
        made += [name, f" {name} ", f"a{name}b", f"{name}{name}", f"\n\n{name}\n\n x", f"x  {name}\t\u00a0y", name[:-1], f"{name} {rng.choice(names)}", f"\u00e9{name}\u00e9 _{name}_"]
    while len(made) < count:
        parts = []
        for _ in range(rng.randrange(1, 7)):
            kind = rng.randrange(7)
            if kind == 0:
                text = rng.choice(files)
                at = rng.randrange(max(1, len(text)))
                parts.append(text[at:at + rng.randrange(1, 160)])
            elif kind == 1:
                alphabet = rng.choice(ALPHABETS)
                parts.append("".join(rng.choice(alphabet) for _ in range(rng.randrange(1, 30))))
            elif kind == 2:
                parts.append(rng.choice(LANGUAGES)[rng.randrange(9):][:rng.randrange(1, 40)])
            elif kind == 3:
                parts.append(rng.choice(ODD)[:40])
            elif kind == 4:
                parts.append(rng.choice(" \t\n\r\u00a0\u3000") * rng.randrange(1, 5))
            else:
                parts.append(rng.choice(names))
        made.append("".join(parts))
    return [t.replace("\0", "") for t in made[:count]]
