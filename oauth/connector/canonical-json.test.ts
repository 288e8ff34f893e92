import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { documentDigest } from './canonical-json.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')

/** The same document with its members in another order, all the way down. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

test('is the SHA-256 of the members in order, without spaces', () => {
  const document = { b: [1, 'ü', null], a: { d: true, c: 1.5e300 }, '€': '"\\\n', '😀': -0, '': {} }
  expect(documentDigest(document)).toBe(
    sha256('{"":{},"a":{"c":1.5e+300,"d":true},"b":[1,"ü",null],"€":"\\"\\\\\\n","😀":0}'),
  )
})

test('neither the order of members nor spaces nor escapes count', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (document) => {
      const digest = documentDigest(document)
      expect(documentDigest(reversed(document))).toBe(digest)
      expect(documentDigest(JSON.parse(JSON.stringify(document, null, 3)))).toBe(digest)
      const escaped = JSON.stringify(document).replace(
        /[\u007f-\uffff]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      expect(documentDigest(JSON.parse(escaped))).toBe(digest)
    }),
  )
})

test('two documents that differ have digests that differ', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
      expect(documentDigest(one) === documentDigest(other)).toBe(isSame)
    }),
  )
})

/** Members as a sorted list of pairs, marked so that no array can look like it. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return { list: value.map(sorted) }
  if (typeof value !== 'object' || value === null) return value
  const pairs = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const)
  return pairs.toSorted(([a], [b]) => (a < b ? -1 : 1))
}

test('a member we do not know counts, added, changed or taken away, wherever it is', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.string(),
      fc.jsonValue(),
      (document, name, value) => {
        fc.pre(!Object.hasOwn(document, name))
        const more = Object.fromEntries([...Object.entries(document), [name, value]])
        const other = Object.fromEntries([...Object.entries(document), [name, [value]]])
        const digests = [document, more, other, { jwks: document }, { jwks: more }].map(documentDigest)
        expect(new Set(digests).size).toBe(digests.length)
      },
    ),
  )
})

test('the order in a list counts', () => {
  expect(documentDigest({ a: [1, 2] })).not.toBe(documentDigest({ a: [2, 1] }))
})

test('names that mean something to JavaScript are names like others', () => {
  const parsed = JSON.parse('{"__proto__":{"x":1},"constructor":2,"toJSON":3}') as unknown
  expect(documentDigest(parsed)).toBe(sha256('{"__proto__":{"x":1},"constructor":2,"toJSON":3}'))
})

test('a member that is undefined is not there, as in JSON', () => {
  expect(documentDigest({ a: 1, b: undefined })).toBe(documentDigest({ a: 1 }))
})

test.each([undefined, NaN, Infinity, () => {}, Symbol('x'), 1n, [undefined], { a: -Infinity }])(
  'what JSON cannot say has no digest: %o',
  (document) => {
    expect(() => documentDigest(document)).toThrow(TypeError)
  },
)

test('the deepest document that fits into five kilobytes has a digest', () => {
  const text = '['.repeat(2560) + ']'.repeat(2560)
  expect(documentDigest(JSON.parse(text))).toBe(sha256(text))
})
