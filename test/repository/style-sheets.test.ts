/** A block that a merge left open swallows every rule behind it, and no browser says so. */
import { expect, test } from 'vitest'
import { filesUnder, readText } from './source-tree.ts'

const sheets = filesUnder('src').filter((path) => path.endsWith('.css'))

/** Lines at the margin that stand inside a block, and what is open at the end. */
function openBlocks(text: string): string[] {
  let depth = 0
  const wrong: string[] = []
  for (const line of text.replaceAll(/\/\*[^]*?\*\//g, '').split('\n')) {
    if (depth > 0 && /^[^\s}]/.test(line)) wrong.push(line)
    for (const sign of line.match(/[{}]/g) ?? []) depth += sign === '{' ? 1 : -1
  }
  return depth === 0 ? wrong : [...wrong, `${depth} blocks are open at the end`]
}

test.each(sheets)('%s: every block is closed where it ends', (path) => {
  expect(openBlocks(readText(path))).toEqual([])
})

test('the check sees a block that is left open', () => {
  expect(openBlocks('@media (x) {\n  a {\n  }\n\nb {\n}\n')).toHaveLength(2)
  expect(openBlocks('@media (x) {\n  a {\n  }\n}\n\nb {\n}\n')).toEqual([])
})
