/**
 * The tokenizer of BERT, as tokenizer.json of the model describes it: a text is cleaned, divided into words at blanks and
 * punctuation, and each word into the longest pieces of the vocabulary (WordPiece). One character at a time and each known
 * after its first time, so that no text takes longer than its length; it ends with the tokens that the model reads.
 */

/** What is read of tokenizer.json. */
export type TokenizerFile = {
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[]
  readonly normalizer: {
    /** Null: where letters become small. */
    readonly strip_accents: boolean | null
    readonly lowercase: boolean
  }
  readonly model: {
    readonly unk_token: string
    readonly continuing_subword_prefix: string
    readonly max_input_chars_per_word: number
    readonly vocab: Readonly<Record<string, number>>
  }
}

/** At most `tokensMax`, with the first and the last, which are the model's own. */
export type Tokenize = (text: string) => readonly number[]

type Character =
  | { readonly kind: 'dropped' }
  | { readonly kind: 'blank' }
  /** A mark or an ideograph is a word of its own. */
  | { readonly kind: 'letter' | 'word'; readonly text: string; readonly length: number }

/** Before and behind every text. */
export const OWN_TOKENS = ['[CLS]', '[SEP]'] as const

const KEPT_CONTROLS = /^[\t\n\r]$/
const DROPPED = /^[\0\uFFFD\p{Cc}\p{Cf}\p{Co}\p{Cs}]$/u
const BLANK = /^[\t\n\r\p{Z}]$/u
const PUNCTUATION = /^[!-/:-@[-`{-~\p{P}]$/u
/** With the gap that the first implementation has. */
const IDEOGRAPH =
  /^[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B73F}\u{2B740}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]$/u
const ACCENTS = /\p{Mn}/gu
/** More than a language has; all that there are would take 100 MB. */
const KNOWN_MAX = 20_000

export function createTokenizer(file: TokenizerFile, tokensMax: number): Tokenize {
  const { unk_token, continuing_subword_prefix: prefix, max_input_chars_per_word: longestWord } = file.model
  const { lowercase, strip_accents: stripAccents } = file.normalizer
  const ids = new Map(Object.entries(file.model.vocab))
  const longestPiece = Math.max(...[...ids.keys()].map(({ length }) => length))
  const special = file.added_tokens.map(({ content, id }) => ({ content, id }))
  const specialStarts = new Set(special.map(({ content }) => content.codePointAt(0)!))
  const [unknown, first, last] = [unk_token, ...OWN_TOKENS].map((name) => ids.get(name)!) as [
    number,
    number,
    number,
  ]
  const known = new Map<number, Character>()

  function characterOf(code: number): Character {
    const character = known.get(code) ?? describe(code)
    if (known.size === KNOWN_MAX) known.clear()
    known.set(code, character)
    return character
  }

  /** Each by itself: only the order of accents depends on others, and they are dropped. */
  function describe(code: number): Character {
    const sign = String.fromCodePoint(code)
    if (DROPPED.test(sign) && !KEPT_CONTROLS.test(sign)) return { kind: 'dropped' }
    if (BLANK.test(sign)) return { kind: 'blank' }
    const plain = (stripAccents ?? lowercase) ? sign.normalize('NFD').replaceAll(ACCENTS, '') : sign
    const text = lowercase ? [...plain].map((one) => one.toLowerCase()).join('') : plain
    if (text === '') return { kind: 'dropped' }
    const isWord = PUNCTUATION.test(text) || IDEOGRAPH.test(sign)
    return { kind: isWord ? 'word' : 'letter', text, length: [...text].length }
  }

  /** The longest piece that is known, again and again; a word with an unknown piece is unknown as a whole. */
  function addPieces(word: string, to: number[]): void {
    const pieces: number[] = []
    for (let from = 0; from < word.length;) {
      let end = Math.min(word.length, from + longestPiece)
      let id: number | undefined
      for (; end > from; end--) {
        id = ids.get((from > 0 ? prefix : '') + word.slice(from, end))
        if (id !== undefined) break
      }
      if (id === undefined) return void to.push(unknown)
      pieces.push(id)
      from = end
    }
    to.push(...pieces)
  }

  return (text) => {
    const tokens = [first]
    let word = ''
    let length = 0
    const endWord = () => {
      if (length > longestWord) tokens.push(unknown)
      else if (length > 0) addPieces(word, tokens)
      word = ''
      length = 0
    }
    for (let at = 0; at < text.length && tokens.length < tokensMax;) {
      const code = text.codePointAt(at)!
      const token = specialStarts.has(code) && special.find(({ content }) => text.startsWith(content, at))
      if (token) {
        endWord()
        tokens.push(token.id)
        at += token.content.length
        continue
      }
      at += code > 0xffff ? 2 : 1
      const character = characterOf(code)
      if (character.kind === 'dropped') continue
      if (character.kind === 'word' || character.kind === 'blank') endWord()
      if (character.kind === 'blank') continue
      // Of a word that is unknown for its length the rest is only counted.
      if (length <= longestWord) word += character.text
      length += character.length
      if (character.kind === 'word') endWord()
    }
    endWord()
    return [...tokens.slice(0, tokensMax - 1), last]
  }
}
