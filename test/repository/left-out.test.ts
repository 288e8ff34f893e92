/** Every test that is left out somewhere says why beside it. */
import { expect, test } from 'vitest'
import * as reasons from '../support/left-out.ts'
import { filesUnder, readText } from './source-tree.ts'

/** Of a condition this much is enough: where it is declared is said why. */
const KNOWN = new RegExp(
  `inject\\('everyCase'\\)|findChromium\\(|\\b(?:${Object.keys(reasons).join('|')})\\b`,
)
const LEFT_OUT = /\.(?:skipIf|runIf)\((.*)/

/** Those without a reason, by line. */
function withoutReason(text: string): string[] {
  const lines = text.split('\n')
  const isSaidAbove = (at: number) => /^\s*\/\/|\*\/$/.test(lines[at - 1] ?? '')
  // Beside its declaration, or in what the run prints.
  const isExplained = (name: string) =>
    lines.some(
      (line, at) =>
        (line.trim().startsWith(`const ${name} = `) && isSaidAbove(at)) ||
        new RegExp(`^\\s*if \\(!?${name}\\b`).test(line),
    )
  return lines.filter((line, at) => {
    const condition = LEFT_OUT.exec(line)?.[1]
    if (condition === undefined || KNOWN.test(condition) || isSaidAbove(at)) return false
    const [, name] = /^!?(\w+)(?=\)|\.| ===)/.exec(condition) ?? []
    return name === undefined || !isExplained(name)
  })
}

test('every test that is left out says why', () => {
  const files = ['src', 'mcp', 'oauth', 'db', 'bin', 'sdk', 'test', 'scripts', 'bench'].flatMap(filesUnder)
  const tests = files.filter((path) => path.endsWith('.test.ts') && !path.endsWith('/left-out.test.ts'))
  expect(tests.length).toBeGreaterThan(150)
  expect(
    tests.flatMap((path) => withoutReason(readText(path)).map((line) => `${path}: ${line.trim()}`)),
  ).toEqual([])
})

test.each([
  ["test.skipIf(inject('engine') === 'pglite')('x')", false],
  ["const isServer = inject('engine') === 'postgres'\ntest.runIf(isServer)('x')", false],
  ["// The engine has none.\ntest.skipIf(inject('engine') === 'pglite')('x')", true],
  ["/** The engine has none. */\nconst isServer = true\n\n\ntest.runIf(isServer)('x')", true],
  ["/** The engine has one. */\nconst isServer = true\ntest.skipIf(!isServer)('x')", true],
  ["const isThere = false\nif (!isThere) console.log('There is none.')\ntest.skipIf(!isThere)('x')", true],
  ["test.runIf(inject('everyCase'))('x')", true],
  ["  test.skipIf(hasOneConnection).each(['x'])", true],
])('%j has a reason: %s', (text, has) => expect(withoutReason(text)).toHaveLength(has ? 0 : 1))
