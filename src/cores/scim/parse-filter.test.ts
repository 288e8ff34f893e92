/** Filters, paths and changes of a directory: whatever is sent is read, or refused in the words of SCIM. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { SCIM_FILTER } from '../../contracts/limits.ts'
import { matchesFilter } from './match-filter.ts'
import { parseFilter, parsePath, type Filter } from './parse-filter.ts'
import { changedPerson, groupSteps, readChanges, readGroup, readPerson } from './read-resource.ts'
import { ScimError } from './scim-error.ts'

const PERSON = {
  userName: 'ada@corp.test',
  email: 'ada@corp.test',
  externalId: null,
  displayName: null,
  givenName: null,
  familyName: null,
  active: true,
}

/** What it gives; undefined where it is refused. Anything else that is thrown is a defect. */
function orRefused<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof ScimError) return undefined
    throw error
  }
}

const WORDS = [
  'userName',
  'emails',
  'eq',
  'pr',
  'and',
  'or',
  'not',
  '(',
  ')',
  '[',
  ']',
  '"a"',
  '.value',
  'true',
  '"',
  '\\',
  ' ',
  'urn:a:b',
]
const nearly = fc.array(fc.constantFrom(...WORDS), { maxLength: 40 }).map((words) => words.join(' '))
const noise = fc.oneof(nearly, fc.string({ maxLength: 1_200 }), fc.string({ unit: 'binary', maxLength: 60 }))

const comparison = fc.record({
  op: fc.constantFrom('eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'),
  attribute: fc.constantFrom('value', 'type', 'display'),
  value: fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.boolean(),
    fc.constant(null),
    fc.integer({ min: -99, max: 99 }),
  ),
}) as fc.Arbitrary<Filter>
const { filter: anyFilter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    comparison,
    fc.record({ op: fc.constant('pr' as const), attribute: fc.constantFrom('value', 'type') }),
    fc.record({ op: fc.constant('not' as const), of: tie('filter') }),
    fc.record({
      op: fc.constantFrom('and' as const, 'or' as const),
      of: fc.array(tie('filter'), { minLength: 2, maxLength: 3 }),
    }),
  ),
}))

function written(filter: Filter): string {
  if (filter.op === 'and' || filter.op === 'or')
    return filter.of.map((one) => `(${written(one)})`).join(` ${filter.op} `)
  if (filter.op === 'not') return `not (${written(filter.of)})`
  if (filter.op === 'has') return `${filter.attribute}[${written(filter.of)}]`
  if (filter.op === 'pr') return `${filter.attribute} pr`
  return `${filter.attribute} ${filter.op.toUpperCase()} ${JSON.stringify(filter.value)}`
}

describe('a filter', () => {
  test('that was written from a tree is read as that tree', () => {
    fc.assert(
      fc.property(anyFilter, (filter) => {
        const text = written(filter)
        fc.pre(text.length <= SCIM_FILTER.characters)
        expect(parseFilter(text)).toEqual(filter)
      }),
    )
  })

  test('of any text is read or refused, and so is any path', () => {
    fc.assert(
      fc.property(noise, (text) => {
        const filter = orRefused(() => parseFilter(text))
        if (filter)
          expect(typeof matchesFilter(filter, { value: 'a', type: 'work', primary: true })).toBe('boolean')
        orRefused(() => parsePath(text))
      }),
      { numRuns: 1_000 },
    )
  })

  test.each(['(', 'not (', 'emails['])('of a hundred %s is refused before it is gone into', (open) => {
    expect(() => parseFilter(`${open.repeat(100)}type pr`)).toThrow(ScimError)
    const deep = `${'('.repeat(SCIM_FILTER.depth)}type pr${')'.repeat(SCIM_FILTER.depth)}`
    expect(() => parseFilter(deep)).toThrow('levels deep')
    expect(parseFilter(deep.slice(1, -1))).toEqual({ op: 'pr', attribute: 'type' })
  })
})

describe('a change', () => {
  const operation = fc.record(
    {
      op: fc.oneof(fc.constantFrom('add', 'Replace', 'REMOVE'), fc.string({ maxLength: 6 })),
      path: fc.oneof(
        fc.constantFrom(
          'active',
          'userName',
          'name',
          'name.givenName',
          'emails',
          'emails[type eq "work"].value',
          'members',
          'members[value eq "x"]',
          'displayName',
          'externalId',
          '__proto__',
          'constructor',
        ),
        noise,
      ),
      value: fc.jsonValue({ maxDepth: 3 }),
    },
    { requiredKeys: ['op'] },
  )
  const body = fc.oneof(
    fc.record({ Operations: fc.array(operation, { maxLength: 4 }) }),
    fc.jsonValue({ maxDepth: 4 }),
  )

  test('of any shape leaves a person whole, or is refused', () => {
    fc.assert(
      fc.property(body, (sent) => {
        const changed = orRefused(() => changedPerson(PERSON, readChanges(sent)))
        if (!changed) return
        expect(typeof changed.active).toBe('boolean')
        expect(changed.userName).toContain('@')
        expect(changed.email).toBe(changed.email.toLowerCase())
        expect(Object.keys(changed).toSorted()).toEqual(Object.keys(PERSON).toSorted())
      }),
      { numRuns: 1_000 },
    )
  })

  test('and any person, any group and any change of a group too', () => {
    fc.assert(
      fc.property(body, (sent) => {
        orRefused(() => readPerson(sent))
        orRefused(() => readGroup(sent))
        orRefused(() => groupSteps(readChanges(sent)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('an address that is not the one that is kept is passed over', () => {
    const to = (path: string, value: unknown) =>
      changedPerson(PERSON, readChanges({ Operations: [{ op: 'replace', path, value }] })).email
    expect(to('emails[type eq "home"].value', 'x@home.test')).toBe(PERSON.email)
    expect(to('emails[type eq "work"].value', 'X@corp.test')).toBe('x@corp.test')
    expect(to('emails', [{ value: 'b@corp.test' }, { value: 'a@corp.test', primary: 'True' }])).toBe(
      'a@corp.test',
    )
    expect(to('userName', 'New@corp.test')).toBe('new@corp.test')
  })
})
