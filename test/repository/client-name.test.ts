/** The name `svc` belongs to somebody else on the registry: npx would run theirs, and hand it our token. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { filesUnder, readText, ROOT } from './source-tree.ts'

const FOLDERS = ['src', 'mcp', 'oauth', 'skills', 'docs', 'scripts', 'test', 'bin', 'bench']
// In two parts, so that this file does not say it either.
const BY_NPX = new RegExp(String.raw`\bnpx (?:-\S+ )*` + String.raw`svc\b`, 'g')

test('nothing printed, documented or in a skill runs the client by npx', () => {
  const paths = [...FOLDERS.flatMap(filesUnder), 'README.md', 'CHANGELOG.md'].filter((path) =>
    /\.(?:ts|md|js|cjs|json)$/.test(path),
  )
  const found = paths.flatMap((path) =>
    [...readText(path).matchAll(BY_NPX)].map(([text]) => `${path}: ${text}`),
  )
  expect(found).toEqual([])
})

test('a checkout has the client in bin/svc', () => {
  const printed = execFileSync(`${ROOT}/bin/svc`, ['--version'], { encoding: 'utf8' }).trim()
  expect(printed).toBe((JSON.parse(readText('package.json')) as { version: string }).version)
})
