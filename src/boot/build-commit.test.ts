import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { buildCommit, buildTag } from './build-commit.ts'

const [ONE, TWO] = ['1'.repeat(40), '2'.repeat(40)]
const folder = mkdtempSync(join(tmpdir(), 'svc-commit-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let made = 0
function checkout(files: Record<string, string | Buffer>): string {
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

const AT_ONE = { '.git/HEAD': `${ONE}\n` }
const TAG = 'a'.repeat(40)
const object = deflateSync(Buffer.from(`tag 9\0object ${ONE}\ntype commit\ntag v1.2.3\n`))

test.each<[string, Record<string, string | Buffer>, string | null]>([
  ['a tag at this commit', { ...AT_ONE, '.git/refs/tags/v1.2.3': `${ONE}\n` }, 'v1.2.3'],
  ['a packed one', { ...AT_ONE, '.git/packed-refs': `${ONE} refs/tags/v1.2.3\n` }, 'v1.2.3'],
  [
    'one with a message',
    { ...AT_ONE, '.git/refs/tags/v1.2.3': TAG, [`.git/objects/aa/${TAG.slice(2)}`]: object },
    'v1.2.3',
  ],
  [
    'a packed one with a message',
    { ...AT_ONE, '.git/packed-refs': `${TAG} refs/tags/v1.2.3\n^${ONE}\n${TWO} refs/tags/v2\n` },
    'v1.2.3',
  ],
  ['what was written down', { 'dist/build-info.json': `{"commit":"${TWO}","tag":"v1.2.3"}` }, 'v1.2.3'],
  ['a tag at another commit', { ...AT_ONE, '.git/refs/tags/v1.2.3': TWO }, null],
  ['a tag of another version', { ...AT_ONE, '.git/refs/tags/v1.2.4': ONE }, null],
  ['a package that was made without it', { 'dist/build-info.json': `{"commit":"${TWO}","tag":null}` }, null],
  ['no repository', {}, null],
])('the tag is read from %s', (_from, files, tag) => {
  expect(buildTag('1.2.3', checkout(files))).toBe(tag)
})
