/** What `npm ci` warns of on Node 20 is what the README says, and nothing else. */
import { expect, test } from 'vitest'
import { readText } from './source-tree.ts'

/** The last of Node 20. */
const NODE_20 = [20, 20, 0]

const isBelow = (a: readonly number[], b: readonly number[]): boolean => {
  const at = b.findIndex((part, index) => (a[index] ?? 0) !== part)
  return at >= 0 && (a[at] ?? 0) < b[at]!
}

/** Of ranges as they are written in `engines`: alternatives of comparators. */
function admitsNode20(range: string): boolean {
  const admits = (comparator: string): boolean => {
    const [, sign = '', version = ''] = /^([<>=^~]*)v?(\d+(?:\.\d+)*)?/.exec(comparator) ?? []
    const parts = version.split('.').map(Number)
    if (version === '') return true
    if (sign === '>=') return !isBelow(NODE_20, parts)
    if (sign === '>') return isBelow(parts, NODE_20)
    if (sign === '<') return isBelow(NODE_20, parts)
    return parts[0] === NODE_20[0] && !isBelow(NODE_20, parts)
  }
  return range.split('||').some((one) =>
    one
      .trim()
      .replaceAll(/([<>=^~]) +/g, '$1')
      .split(/[ ,]+/)
      .every(admits),
  )
}

test.each([
  ['>=20.16', true],
  ['>= 0.8', true],
  ['^22.12.0 || ^24.0.0 || >=26.0.0', false],
  ['^20.19.0 || >=22.12.0', true],
  ['>=18 <21', true],
  ['>=14 <20', false],
  ['20 || >=22', true],
  ['*', true],
])('Node 20 by %s: %s', (range, admitted) => {
  expect(admitsNode20(range)).toBe(admitted)
})

test('two packages ask for a newer Node than npm may run on, and the README names both', () => {
  const { packages } = JSON.parse(readText('package-lock.json')) as {
    packages: Record<string, { engines?: { node?: string }; dev?: true }>
  }
  const refusing = Object.entries(packages).filter(([, { engines }]) => !admitsNode20(engines?.node ?? '*'))
  const names = refusing.map(([path]) => path.replace(/^.*node_modules\//, ''))
  expect(names.toSorted()).toEqual(['unpdf', 'vitest'])
  expect(readText('README.md')).toContain('it warns that `unpdf` and `vitest` want a newer one')
})
