import { expect, test } from 'vitest'
import { compareTexts } from '../../adapters/source-thread/compare-texts.ts'
import { changedPlaces, haveCommonPlace } from './changed-places.ts'

const FILE = `import { total } from './total.js'

export function sum(items) {
  return items.reduce(add, 0)
}

export function mean(items) {
  return sum(items) / items.length
}
`
const side = (text: string) => ({ text, isExecutable: false })
const places = (old: string, now: string, path = 'a.js') =>
  changedPlaces(compareTexts({ path, old: side(old), now: side(now) }).patch, [path])
const edited = (from: string, to: string, path = 'a.js') => places(FILE, FILE.replace(from, to), path)
const repair = edited('reduce(add, 0)', 'reduce(add, 1)')

test('another change of the same line is in the same place', () => {
  expect(haveCommonPlace(repair, edited('reduce(add, 0)', 'reduce(add,  2)'))).toBe(true)
  expect(haveCommonPlace(repair, edited('return items', 'return  [...items]'))).toBe(true)
})

test('a change that takes more lines with it is, too, in either direction', () => {
  const wider = edited('sum(items) {\n  return items.reduce(add, 0)', 'sum(them) {\n  return 0')
  expect(haveCommonPlace(repair, wider)).toBe(true)
  expect(haveCommonPlace(wider, repair)).toBe(true)
})

test('a change elsewhere in the file, or in another file, is not', () => {
  expect(haveCommonPlace(repair, edited('/ items.length', '/ (items.length || 1)'))).toBe(false)
  expect(haveCommonPlace(repair, edited('reduce(add, 0)', 'reduce(add, 1)', 'b.js'))).toBe(false)
})

test('lines that changed since are not', () => {
  const since = FILE.replace('items.reduce(add, 0)', 'items.reduce(plus, 0)')
  expect(haveCommonPlace(repair, places(since, since.replace('plus, 0', 'plus, 1')))).toBe(false)
})

test('what is added is known by the lines around it', () => {
  const guard = edited('sum(items) {\n', 'sum(items) {\n  if (!items) return 0\n')
  expect(haveCommonPlace(guard, edited('sum(items) {\n', 'sum(items) {\n  items ??= []\n'))).toBe(true)
  expect(haveCommonPlace(guard, edited('mean(items) {\n', 'mean(items) {\n  items ??= []\n'))).toBe(false)
})

test('an import in the same place does not make two changes one', () => {
  const withImport = (file: string) => file.replace("total.js'\n", "total.js'\nimport { x } from './x.js'\n")
  const one = places(FILE, withImport(FILE.replace('reduce(add, 0)', 'reduce(add, 1)')))
  const other = places(FILE, withImport(FILE.replace('/ items.length', '/ 2')))
  expect(haveCommonPlace(one, other)).toBe(false)
  expect(haveCommonPlace(one, repair)).toBe(true)
})

test('a file that is created is one place, and one that is removed another', () => {
  const created = (text: string) =>
    changedPlaces(compareTexts({ path: 'n.js', old: undefined, now: side(text) }).patch, ['n.js'])
  expect(haveCommonPlace(created('one\n'), created('two\n'))).toBe(true)
  expect(haveCommonPlace(created('one\n'), edited('reduce', 'map', 'n.js'))).toBe(false)
})
