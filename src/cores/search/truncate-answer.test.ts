import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Hit } from '../../contracts/data-sources.ts'
import { ANSWER_MAX_BYTES } from '../../contracts/limits.ts'
import {
  ANSWER_MIN_BYTES,
  answerBytes,
  truncateAnswer,
  truncateHit,
  VALUE_MIN_CHARACTERS,
} from './truncate-answer.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'

const characters = fc.constantFrom(
  'a',
  'b',
  ' ',
  '"',
  '\\',
  '\n',
  ':',
  'ü',
  '日',
  '😀',
  '\0',
  '\ud83d',
  '\ude00',
  '\u0085',
)
/** Mostly short; some around the minimum, where off-by-one lives; some far too long. */
const textUpTo = (longest: number) =>
  fc.oneof(
    fc.string({ unit: characters, maxLength: 12 }),
    fc
      .tuple(
        fc.string({ unit: characters, minLength: 1, maxLength: 12 }),
        fc.integer({ min: 70, max: longest }),
      )
      .map(([unit, length]) => unit.repeat(length).slice(0, length)),
    fc.integer({ min: 76, max: 86 }).map((length) => 'x'.repeat(length)),
  )
const valueUpTo = (longest: number) =>
  fc.oneof(
    { weight: 4, arbitrary: textUpTo(longest) },
    { weight: 1, arbitrary: fc.constantFrom(null, true, 12.5, undefined, new Date(0)) },
    { weight: 2, arbitrary: fc.array(fc.constantFrom('', 'a', '"', 7, 'long enough'), { maxLength: 40 }) },
    { weight: 1, arbitrary: fc.dictionary(fc.string({ maxLength: 5 }), textUpTo(longest), { maxKeys: 3 }) },
  )
const hitUpTo = (longest: number): fc.Arbitrary<Hit> =>
  fc
    .record({
      id: fc.oneof(
        { weight: 9, arbitrary: fc.string({ maxLength: 20 }) },
        { weight: 1, arbitrary: textUpTo(longest) },
      ),
      title: fc.option(textUpTo(longest)),
      columns: fc.array(
        fc.tuple(fc.constantFrom('body', 'note', 'tags', '__proto__', '- a'), valueUpTo(longest)),
        { maxLength: 4 },
      ),
      score: fc.double({ noNaN: true, min: -1, max: 1 }),
      handle: fc.constantFrom([], [['_handle', 'h'.repeat(120)] as const]),
    })
    .map(({ id, title, columns, score, handle }) => ({
      id,
      title,
      metadata: Object.fromEntries([...columns, ['_score', score], ['_target', 'articles'], ...handle]),
    }))
const hit = hitUpTo(1_200)
const hits = fc.array(hit, { maxLength: 8 })
const maxBytes = fc.integer({ min: ANSWER_MIN_BYTES, max: 6_000 })

/** The rules once more, without cleverness: what an answer looks like with so many hits and values so long. */
function drawn(all: readonly Hit[], kept: number, longest: number) {
  let shortened = 0
  const drawValue = (whole: unknown) => {
    const json = JSON.stringify(whole) ?? ''
    const whatIsCut = json.startsWith('"') ? String(JSON.parse(json)) : json
    if (whatIsCut.length <= longest) return whole
    let cut = whatIsCut.slice(0, longest - 1)
    if (/[\ud800-\udbff]$/.test(cut) && /^[\udc00-\udfff]/.test(whatIsCut.slice(longest - 1)))
      cut = cut.slice(0, -1)
    if (Buffer.byteLength(JSON.stringify(`${cut}…`)) >= Buffer.byteLength(json)) return whole
    shortened++
    return `${cut}…`
  }
  const results = all.slice(0, kept).map(({ id, title, metadata }) => ({
    id,
    title: drawValue(title) as string | null,
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([name, whole]) => [
        name,
        name.startsWith('_') && name !== '__proto__' ? whole : drawValue(whole),
      ]),
    ),
  }))
  const left = all.length - kept
  const said = [
    ...(shortened === 0
      ? []
      : [`${shortened} long value${shortened === 1 ? '' : 's'} shortened to ${longest} characters`]),
    ...(left === 0 ? [] : [`${left} last hit${left === 1 ? '' : 's'} left out`]),
  ].join('; ')
  const truncated = said && `${said}. Narrow the question with filters or a smaller top_k.`
  return { shortened, answer: { count: kept, results, ...(truncated && { truncated }) } }
}

/** The slow search: every length from the top, then every number of hits. */
function withDatabaseCheck(all: readonly Hit[], limit: number) {
  for (let kept = all.length; kept >= 0; kept--) {
    for (let longest = limit; longest >= VALUE_MIN_CHARACTERS; longest--) {
      const { answer, shortened } = drawn(all, kept, longest)
      if (answerBytes(answer) <= limit) return answer
      // Nothing is cut at this length, so nothing changes before the longest value is.
      if (shortened === 0) longest = Math.min(longest, longestValue(all.slice(0, kept)) + 1)
    }
  }
  throw new Error('an answer without hits always fits')
}

const longestValue = (all: readonly Hit[]) =>
  Math.max(
    0,
    ...all
      .flatMap(({ title, metadata }) => [title, ...Object.values(metadata)])
      .map((whole) => (typeof whole === 'string' ? whole : (JSON.stringify(whole) ?? '')).length),
  )

describe('an answer', () => {
  test('never has more bytes than it may, as JSON and as YAML', () => {
    fc.assert(
      fc.property(hits, maxBytes, (all, limit) => {
        const answer = truncateAnswer(all, limit)
        expect(answerBytes(answer)).toBeLessThanOrEqual(limit)
        expect(answer.count).toBe(answer.results.length)
      }),
      { numRuns: 200 },
    )
  })

  test('that fits is left alone', () => {
    fc.assert(
      fc.property(hits, (all) => {
        const whole = { count: all.length, results: all }
        expect(JSON.stringify(truncateAnswer(all, Math.max(ANSWER_MIN_BYTES, answerBytes(whole))))).toBe(
          JSON.stringify(whole),
        )
      }),
    )
  })

  test('keeps the first hits in order, with ids and all that is ours whole', () => {
    fc.assert(
      fc.property(hits, maxBytes, (all, limit) => {
        const ours = ({ id, metadata: { _score, _target, _handle } }: Hit) => ({
          id,
          _score,
          _target,
          _handle,
        })
        const { results } = truncateAnswer(all, limit)
        expect(results.map(ours)).toEqual(all.slice(0, results.length).map(ours))
      }),
    )
  })

  test('holds each value whole or its beginning and an ellipsis, with no character halved', () => {
    fc.assert(
      fc.property(hits, maxBytes, (all, limit) => {
        const parts = ({ title, metadata }: Hit) => [title, ...Object.values(metadata)]
        for (const [at, cut] of truncateAnswer(all, limit).results.entries()) {
          const wholes = parts(all[at]!)
          for (const [index, shown] of parts(cut).entries()) {
            const whole = wholes[index]
            if (Object.is(shown, whole)) continue
            const kept = String(shown).slice(0, -1)
            const text = typeof whole === 'string' ? whole : JSON.stringify(whole)
            expect(shown).toBe(`${kept}…`)
            expect(text.startsWith(kept) && text.length > kept.length + 1).toBe(true)
            const halved = /[\ud800-\udbff]$/.test(kept) && /^[\udc00-\udfff]/.test(text.slice(kept.length))
            expect(halved).toBe(false)
            expect(Buffer.byteLength(JSON.stringify(shown))).toBeLessThan(
              Buffer.byteLength(JSON.stringify(whole)),
            )
          }
        }
      }),
    )
  })

  test('is what trying every length and every number of hits would find, to the word', () => {
    fc.assert(
      fc.property(
        fc.array(hitUpTo(160), { maxLength: 3 }),
        fc.integer({ min: ANSWER_MIN_BYTES, max: 900 }),
        (all, limit) => {
          expect(JSON.stringify(truncateAnswer(all, limit))).toBe(
            JSON.stringify(withDatabaseCheck(all, limit)),
          )
        },
      ),
      { numRuns: 50 },
    )
  })

  test('stays as it is when cut again', () => {
    fc.assert(
      fc.property(hits, maxBytes, (all, limit) => {
        const { results } = truncateAnswer(all, limit)
        expect(truncateAnswer(results, limit)).toEqual({ count: results.length, results })
      }),
    )
  })

  const long = (id: string, body: string): Hit => ({
    id,
    title: 'T',
    metadata: { body, _score: 1, _target: 'a' },
  })

  test('says what was cut, in one and in many', () => {
    const says = (all: Hit[], limit: number) => truncateAnswer(all, limit).truncated
    const body = 'b'.repeat(5_000)
    expect(says([long('1', body)], 1_000)).toBe(
      '1 long value shortened to 787 characters. Narrow the question with filters or a smaller top_k.',
    )
    expect(says([long('1', body), long('2', body)], 1_000)).toMatch(
      /^2 long values shortened to 3\d\d characters\. /,
    )
    expect(says([long('1', 'b'), long('2'.repeat(900), 'b')], 1_000)).toMatch(/^1 last hit left out\. /)
    expect(says([long('1', body), long('2'.repeat(900), 'b'), long('3', 'b')], 1_000)).toMatch(
      /^1 long value shortened to 7\d\d characters; 2 last hits left out\. /,
    )
  })

  test('has no hit after one whose id does not fit', () => {
    const { results } = truncateAnswer([long('1', 'b'), long('2'.repeat(2_000), 'b'), long('3', 'b')], 1_000)
    expect(results.map(({ id }) => id)).toEqual(['1'])
  })

  test('shows a value nested deeper than can be written as an ellipsis', () => {
    const deep: unknown = JSON.parse('['.repeat(50_000) + ']'.repeat(50_000))
    const { results, truncated } = truncateAnswer(
      [{ id: '1', title: null, metadata: { deep } }],
      ANSWER_MAX_BYTES,
    )
    expect(results).toEqual([{ id: '1', title: null, metadata: { deep: '…' } }])
    expect(truncated).toMatch(/^1 long value shortened/)
  })

  test('of twenty hits with megabytes in them is cut without reading the megabytes', () => {
    const all = Array.from({ length: 20 }, (_, at) => long(String(at), `${at}é"\n`.repeat(200_000)))
    // Some milliseconds; a quadratic search takes minutes.
    expect(cpuMs(() => truncateAnswer(all, ANSWER_MAX_BYTES))).toBeLessThan(1_000)
    const answer = truncateAnswer(all, ANSWER_MAX_BYTES)
    expect(answer.count).toBe(20)
    expect(answerBytes(answer)).toBeGreaterThan(ANSWER_MAX_BYTES - 200)
  })

  test('cannot be smaller than what says that there is none', () => {
    expect(() => truncateAnswer([], ANSWER_MIN_BYTES - 1)).toThrow(RangeError)
  })
})

describe('a fetched row', () => {
  const row = (columns: Record<string, unknown>): Hit => ({
    id: '1',
    title: 'T',
    metadata: { ...columns, _target: 'a' },
  })

  test('never has more bytes than it may', () => {
    fc.assert(
      fc.property(hit, fc.integer({ min: 1_000, max: 6_000 }), (one, limit) => {
        fc.pre(one.id.length <= 20)
        expect(answerBytes(truncateHit(one, limit))).toBeLessThanOrEqual(limit)
      }),
    )
  })

  test('that fits is whole and says nothing', () => {
    expect(truncateHit(row({ body: 'b' }), 1_000)).toEqual({ hit: row({ body: 'b' }) })
  })

  test('is shortened like an answer', () => {
    const { hit: shown, truncated } = truncateHit(row({ body: 'b'.repeat(5_000), year: 2020 }), 1_000)
    expect(truncated).toMatch(/^1 long value shortened to 8\d\d characters\.$/)
    expect(shown).toMatchObject({ id: '1', title: 'T', metadata: { year: 2020, _target: 'a' } })
  })

  test('of too many columns loses the last ones, but not its target', () => {
    const columns = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`c${at}`, 'x'.repeat(200)]))
    const { hit: shown, truncated } = truncateHit(row(columns), 1_000)
    const kept = Object.keys(shown.metadata).length - 1
    expect(Object.keys(shown.metadata)).toEqual([...Object.keys(columns).slice(0, kept), '_target'])
    expect(truncated).toMatch(
      new RegExp(`^${kept} long values shortened to \\d+ characters; ${40 - kept} last columns left out\\.$`),
    )
  })

  test('whose id does not fit is not found', () => {
    expect(() => truncateHit({ ...row({}), id: 'x'.repeat(1_000) }, 1_000)).toThrow('Not found')
  })
})
