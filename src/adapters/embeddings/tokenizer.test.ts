import { expect, test } from 'vitest'
import { TokenizerSchema } from './model-folder.ts'
import { createTokenizer } from './tokenizer.ts'

const WORDS = [
  '[UNK]',
  '[CLS]',
  '[SEP]',
  '[MASK]',
  'a',
  '##b',
  'cafe',
  '##s',
  ',',
  '[',
  ']',
  '\u6F22',
  'σ',
  'İ',
  'Café',
  'i',
]

function tokenizer(options: { lowercase?: boolean; tokensMax?: number } = {}) {
  const file = TokenizerSchema.parse({
    added_tokens: [{ id: 3, content: '[MASK]' }],
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: options.lowercase ?? true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    model: {
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 5,
      vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
    },
  })
  const tokenize = createTokenizer(file, options.tokensMax ?? 12)
  return (text: string) =>
    tokenize(text)
      .slice(1, -1)
      .map((id) => WORDS[id])
      .join(' ')
}

test.each([
  ['the longest pieces', 'ab cafes abb', 'a ##b cafe ##s a ##b ##b'],
  ['a word with an unknown piece is unknown as a whole', 'ax a', '[UNK] a'],
  ['a word of more letters than it may have', 'abbbb abbbbb', 'a ##b ##b ##b ##b [UNK]'],
  [
    'small letters without accents, also those that are written as two characters',
    'CAFÉ cafe\u0301',
    'cafe cafe',
  ],
  ['marks and ideographs are words of their own', 'a,a\u6F22a', 'a , a \u6F22 a'],
  ['controls are dropped and divide nothing', 'a\0\u200Bb', 'a ##b'],
  ['blanks of any kind divide', 'a\u00A0a\u3000a\u2028a\ta', 'a a a a a'],
  ['special tokens stand for themselves, written exactly so', 'a[MASK]b [mask]', 'a [MASK] [UNK] [ [UNK] ]'],
  ['a letter has its small one wherever it stands', 'ΣΣ Σ', '[UNK] σ'],
  ['a letter with a dot', 'İ', 'i'],
])('%s: %s', (_, text, tokens) => {
  expect(tokenizer()(text)).toBe(tokens)
})

test('where letters keep their case, they keep their accents', () => {
  expect(tokenizer({ lowercase: false })('Café cafe İ')).toBe('Café cafe İ')
})

test('a text ends with the tokens that the model reads, and its last one is the model’s own', () => {
  expect(tokenizer({ tokensMax: 5 })('a a a a a a')).toBe('a a a')
  expect(tokenizer({ tokensMax: 5 })('a abbb')).toBe('a a ##b')
})
