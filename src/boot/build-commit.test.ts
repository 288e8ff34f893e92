import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { buildCommit } from './build-commit.ts'

const [ONE, TWO] = ['1'.repeat(40), '2'.repeat(40)]
const folder = mkdtempSync(join(tmpdir(), 'svc-commit-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let made = 0
function checkout(files: Record<string, string>): string {
  const root = join(folder, String(made++))
  mkdirSync(root)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

test.each<[string, Record<string, string>, string | null]>([
  ['a branch', { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${ONE}\n` }, ONE],
  ['no branch', { '.git/HEAD': `${ONE}\n` }, ONE],
  [
    'a packed branch',
    {
      '.git/HEAD': 'ref: refs/heads/a/b\n',
      '.git/packed-refs': `# pack-refs\n${TWO} refs/heads/b\n${ONE} refs/heads/a/b\n`,
    },
    ONE,
  ],
  [
    'what was written down when it was packed',
    { 'dist/build-info.json': `{"commit":"${TWO}"}`, '.git/HEAD': ONE },
    TWO,
  ],
  ['nothing', {}, null],
  ['a package that was made without git', { 'dist/build-info.json': '{"commit":null}' }, null],
  ['damage', { 'dist/build-info.json': '{', '.git/HEAD': 'ref: refs/heads/gone\n' }, null],
  [
    'something that is no commit',
    { 'dist/build-info.json': '{"commit":"v1"}', '.git/HEAD': '../../etc/passwd' },
    null,
  ],
  ['a way out of the folder', { '.git/HEAD': 'ref: /etc/passwd\n' }, null],
])('the commit is read from %s', (_from, files, commit) => {
  expect(buildCommit(checkout(files))).toBe(commit)
})

test('the commit of a second work tree is that of its own branch', () => {
  const main = checkout({
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/refs/heads/main': ONE,
    '.git/refs/heads/side': TWO,
  })
  const inside = join(main, '.git/worktrees/side')
  mkdirSync(inside, { recursive: true })
  writeFileSync(join(inside, 'HEAD'), 'ref: refs/heads/side\n')
  writeFileSync(join(inside, 'commondir'), '../..\n')
  expect(buildCommit(checkout({ '.git': `gitdir: ${inside}\n` }))).toBe(TWO)
})
