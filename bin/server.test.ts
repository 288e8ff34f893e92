/** The launcher, started by a Node that cannot run TypeScript, over a main.ts that only tells what it got. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'

const ROOT = new URL('..', import.meta.url).pathname
// Npm installs one for some platforms, and none where optional packages are left out.
const bundled = existsSync(join(ROOT, `node_modules/node-${process.platform}-${process.arch}/bin/node`))
/** What Node 20 is to us, whichever Node runs this test. */
const OLD = ['--no-experimental-strip-types']

const MAIN = `
const [how]: string[] = process.argv.slice(2)
if (how === 'leave') process.exit(7)
if (how === 'die') process.kill(process.pid, 'SIGKILL')
process.on('SIGTERM', () => process.exit(0))
setInterval(() => {}, 1000)
console.log('ready')
`

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })))

function launch(flags: string[], how: string, options: { installed: boolean } = { installed: true }) {
  const folder = checkout()
  if (options.installed) symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return launchIn(folder, flags, how)
}

function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-launch-'))
  folders.push(folder)
  mkdirSync(join(folder, 'src/boot'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  cpSync(join(ROOT, 'bin/server'), join(folder, 'bin/server'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'src/boot/main.ts'), MAIN)
  return folder
}

function launchIn(folder: string, flags: readonly string[], how: string) {
  return spawn(process.execPath, [...flags, 'bin/server', how], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

for (const [node, flags] of [
  ['an old Node', OLD],
  ['a new Node', []],
] as const) {
  // An old one hands over to the Node that npm installed.
  const skipped = node === 'an old Node' && !bundled

  test.skipIf(skipped)(`on ${node} the exit code is the server's own`, async () => {
    expect(await once(launch([...flags], 'leave'), 'exit')).toEqual([7, null])
  })

  test.skipIf(skipped)(
    `on ${node} a request to stop reaches the server, which may take its time`,
    async () => {
      const server = launch([...flags], 'serve')
      await once(server.stdout, 'data')
      server.kill('SIGTERM')
      expect(await once(server, 'exit')).toEqual([0, null])
    },
  )
}

test.skipIf(!bundled)('a server killed from outside is told as a shell tells it', async () => {
  expect(await once(launch(OLD, 'die'), 'exit')).toEqual([128 + 9, null])
})

test('without a fitting Node it says what to do', async () => {
  const server = launch(OLD, 'serve', { installed: false })
  const [[sentence], exit] = await Promise.all([once(server.stderr, 'data'), once(server, 'exit')])
  expect(String(sentence)).toContain('Run `npm ci` first')
  expect(exit).toEqual([1, null])
})

describe('a bundle', () => {
  const INPUT = 'src/boot/input.ts'
  const CURRENT = 'dist/server/current.json'
  const TEXT = 'export const a = 1'

  function built(): string {
    const folder = checkout()
    mkdirSync(join(folder, 'dist/server/0123'), { recursive: true })
    writeFileSync(join(folder, INPUT), TEXT)
    writeFileSync(join(folder, 'dist/server/0123/main.js'), 'process.exit(3)')
    const { size, ctimeMs } = statSync(join(folder, INPUT))
    const digest = createHash('sha256').update(TEXT).digest('hex')
    const inputs = [
      [INPUT, size, ctimeMs, digest],
      // What an image has not.
      ['scripts/build-server.ts', 1, 1, 'x'],
    ]
    writeFileSync(join(folder, CURRENT), JSON.stringify({ folder: '0123', inputs }))
    return folder
  }
  /** The sources end with 7, the bundle with 3. */
  const ran = async (folder: string) => {
    const [code] = (await once(launchIn(folder, [], 'leave'), 'exit')) as [number]
    return { 3: 'bundle', 7: 'sources' }[code]
  }

  test('runs instead of the sources it was made from, also when they were copied or checked out again', async () => {
    const folder = built()
    expect(await ran(folder)).toBe('bundle')
    utimesSync(join(folder, INPUT), 1, 1)
    expect(await ran(folder)).toBe('bundle')
  })

  test.each([
    // With the times of the old one, as `rsync --times` or a build with normalized times leaves it.
    ['has another text of the same length and time', (file: string) => replaceKeepingTimes(file)],
    ['has become longer', (file: string) => writeFileSync(file, `${TEXT}\n`)],
    ['is gone', (file: string) => rmSync(file)],
  ])('is left alone once one of them %s', async (_what, change) => {
    const folder = built()
    change(join(folder, INPUT))
    expect(await ran(folder)).toBe('sources')
  })

  test('is left alone once the way to build it has changed', async () => {
    const folder = built()
    mkdirSync(join(folder, 'scripts'))
    writeFileSync(join(folder, 'scripts/build-server.ts'), '2')
    expect(await ran(folder)).toBe('sources')
  })

  test.each([
    ['its description is missing', (folder: string) => rmSync(join(folder, CURRENT))],
    ['its description is half written', (folder: string) => writeFileSync(join(folder, CURRENT), '{"folder')],
    ['its program is missing', (folder: string) => rmSync(join(folder, 'dist/server/0123/main.js'))],
  ])('is left alone when %s', async (_what, damage) => {
    const folder = built()
    damage(folder)
    expect(await ran(folder)).toBe('sources')
  })

  function replaceKeepingTimes(file: string): void {
    const { atimeMs, mtimeMs, ctimeMs } = statSync(file)
    const replaced = TEXT.replace('1', '2')
    // A clock that ticks every few milliseconds.
    do writeFileSync(file, replaced)
    while (statSync(file).ctimeMs === ctimeMs)
    utimesSync(file, atimeMs / 1000, mtimeMs / 1000)
  }
})
