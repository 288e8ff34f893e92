/** Whatever lies in a project before an install: every file is old or new afterwards, and every foreign byte intact. */
import fc from 'fast-check'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import {
  faultyFileSystem,
  fsError,
  snapshotFolder,
  scratchFolder,
  unsyncedFileSystem,
} from '../../../test/support/faulty-file-system.ts'
import { CURRENT, CURRENT_BODY, EARLIER, EARLIER_BODY, toySkill } from '../../../test/support/toy-skill.ts'
import { applyPlan, planInstall, refusedFiles, statusOf, type Report } from './install-skill.ts'

const skill = toySkill()
const base = scratchFolder()
afterAll(() => {
  execFileSync('chmod', ['-R', 'u+w', base])
  rmSync(base, { recursive: true })
})

type Fate = 'leave' | 'write' | 'refuse' | 'block'
type Content = { fate: Fate; bytes?: Buffer; make?: (path: string) => void }

const anyFormat = fc.record({ crlf: fc.boolean(), bom: fc.boolean(), cut: fc.boolean() })
const formatted = (
  text: string,
  { crlf, bom, cut }: { crlf: boolean; bom: boolean; cut: boolean },
): Buffer => {
  const whole = cut ? text.replace(/\n$/, '') : text
  return Buffer.from((bom ? '\ufeff' : '') + (crlf ? whole.replaceAll('\n', '\r\n') : whole))
}

/** One byte changed, removed or inserted: never what svc knows, unless it only changed the format. */
const mutant = (text: string) =>
  fc
    .tuple(fc.nat(text.length - 1), fc.integer({ min: 33, max: 255 }), fc.constantFrom(0, 1))
    .map(([at, byte, cut]) => {
      const bytes = Buffer.from(text)
      return Buffer.concat([bytes.subarray(0, at), Buffer.from([byte]), bytes.subarray(at + cut)])
    })
    .filter((bytes) => !bytes.equals(Buffer.from(text)))

/** Most trees should not be refused as a whole, so obstacles are rare. */
const obstacles = fc.constantFrom<Content>(
  { fate: 'block', make: (path) => mkdirSync(path) },
  { fate: 'block', make: (path) => symlinkSync('../'.repeat(9), path) },
  { fate: 'block', make: (path) => symlinkSync(path, path) },
  { fate: 'block', make: (path) => symlinkSync(join(base, 'nowhere'), path) },
)
const often = (weight: number, arbitrary: fc.Arbitrary<Content>) => ({ weight, arbitrary })

const fileContent = (path: keyof typeof CURRENT): fc.Arbitrary<Content | undefined> =>
  fc.oneof(
    { weight: 10, arbitrary: fc.constant(undefined) },
    often(
      10,
      anyFormat.map((format) => ({ fate: 'leave', bytes: formatted(CURRENT[path], format) })),
    ),
    often(
      10,
      anyFormat.map((format) => ({ fate: 'write', bytes: formatted(EARLIER[path], format) })),
    ),
    often(
      1,
      mutant(CURRENT[path]).map((bytes) => ({ fate: 'refuse', bytes })),
    ),
    often(
      1,
      mutant(EARLIER[path]).map((bytes) => ({ fate: 'refuse', bytes })),
    ),
    often(1, fc.constant({ fate: 'refuse', bytes: Buffer.alloc(0) })),
    often(1, obstacles),
  )

const BEGIN = '<!-- BEGIN svc-skill:toy (x) -->\n'
const END = '<!-- END svc-skill:toy -->\n'
const prose = fc
  .array(fc.constantFrom('mine\n', '# T\r\n', '\n', ' <!-- BEGIN svc-skill:toy -->\n', '\u00ff\ufffd\n'), {
    maxLength: 5,
  })
  .map((parts) => parts.join(''))
const around = (fate: Fate, middle: string) =>
  fc.tuple(prose, prose, anyFormat).map(([above, below, format]): Content => ({
    fate,
    bytes: formatted(above + middle + below, { ...format, bom: format.bom && above !== '' }),
  }))
const instructions: fc.Arbitrary<Content | undefined> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  often(8, around('write', '')),
  often(8, around('write', BEGIN + EARLIER_BODY + END)),
  often(8, around('leave', BEGIN + CURRENT_BODY + END)),
  often(1, around('refuse', `${BEGIN}${CURRENT_BODY}mine\n${END}`)),
  often(1, around('block', BEGIN)),
  often(1, around('block', END + BEGIN)),
  often(1, around('block', BEGIN + CURRENT_BODY + END + BEGIN + CURRENT_BODY + END)),
  often(1, fc.constant({ fate: 'block', bytes: Buffer.from('mine', 'utf16le') })),
  often(1, obstacles),
)

const CLAUDE = '.claude/skills/toy'
const AGENTS = '.agents/skills/toy'
const FILES = ['SKILL.md', 'references/one.md', 'references/two.md'] as const
const folder = fc.record({
  'SKILL.md': fileContent('SKILL.md'),
  'references/one.md': fileContent('references/one.md'),
  'references/two.md': fileContent('references/two.md'),
  'references/gone.md': fc.option(
    fc.oneof(
      anyFormat.map((format): Content => ({
        fate: 'write',
        bytes: formatted(EARLIER['references/gone.md'], format),
      })),
      mutant(EARLIER['references/gone.md']).map((bytes): Content => ({ fate: 'leave', bytes })),
    ),
    { nil: undefined },
  ),
})
const tree = fc.record({
  claude: folder,
  agents: fc.oneof(
    { weight: 3, arbitrary: folder },
    { weight: 1, arbitrary: fc.constant('linked' as const) },
  ),
  AGENTS: instructions,
  GEMINI: fc.oneof(
    { weight: 3, arbitrary: instructions },
    { weight: 1, arbitrary: fc.constant('linked' as const) },
  ),
  foreign: fc.array(
    fc.tuple(
      fc.constantFrom(
        'mine.md',
        `${CLAUDE}/mine.md`,
        `${AGENTS}/references/x.md`,
        `${CLAUDE}/.SKILL.md.tmp`,
        'docs/x',
      ),
      fc.uint8Array({ maxLength: 8 }),
    ),
    { maxLength: 4 },
  ),
  sealed: fc.oneof(
    { weight: 12, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(CLAUDE, '.') },
  ),
  force: fc.boolean(),
})
type Tree = typeof tree extends fc.Arbitrary<infer T> ? T : never

let count = 0
function plant({ claude, agents, AGENTS: first, GEMINI, foreign, sealed }: Tree) {
  const outer = join(base, String(count++))
  const root = join(outer, 'project')
  mkdirSync(join(root, '.git'), { recursive: true })
  const ours = new Map<string, Content | undefined>()
  const put = (name: string, bytes: Uint8Array) => {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), bytes)
  }
  const link = (name: string, to: string) => {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    symlinkSync(to, join(root, name))
  }
  for (const [dir, files] of [
    [CLAUDE, claude],
    [AGENTS, agents],
  ] as const) {
    if (files === 'linked') link(AGENTS, `../../${CLAUDE}`)
    else for (const [path, content] of Object.entries(files)) ours.set(`${dir}/${path}`, content)
  }
  ours.set('AGENTS.md', first)
  if (GEMINI === 'linked') link('GEMINI.md', 'AGENTS.md')
  else ours.set('GEMINI.md', GEMINI)
  for (const [name, content] of ours) {
    if (content?.bytes) put(name, content.bytes)
    mkdirSync(dirname(join(root, name)), { recursive: true })
    content?.make?.(join(root, name))
  }
  for (const [name, bytes] of foreign) if (!name.startsWith(AGENTS) || agents !== 'linked') put(name, bytes)
  if (sealed !== undefined) chmodSync(join(root, sealed), 0o555)
  return { outer, root, ours, options: { cwd: root, home: root, user: false, agents: true } }
}

/** What a file of ours may be after it was written, whatever it was before. */
const isNew = (name: string, before: Content | undefined, now: Buffer): boolean => {
  const text = now.toString('latin1')
  if (!name.endsWith('AGENTS.md') && !name.endsWith('GEMINI.md')) {
    const path = FILES.find((file) => name.endsWith(`/${file}`))
    const bare = text
      .replace(/^\u00ef\u00bb\u00bf/, '')
      .replaceAll('\r\n', '\n')
      .replace(/\n?$/, '\n')
    return path !== undefined && bare === Buffer.from(CURRENT[path]).toString('latin1')
  }
  // Foreign bytes: what is left without the block, which is either behind all that was there or in its old place.
  const [rest, body] = withoutBlock(text)
  const was = before?.bytes?.toString('latin1') ?? ''
  const [old] = withoutBlock(was)
  return body === Buffer.from(CURRENT_BODY).toString('latin1') && (rest === old || text.startsWith(was))
}
function withoutBlock(text: string): [string, string | undefined] {
  const found =
    /(?<=^(?:\u00ef\u00bb\u00bf)?|\n)<!-- BEGIN svc-skill:toy [^\n]*-->\r?\n([^]*?)<!-- END svc-skill:toy -->/.exec(
      text,
    )
  if (!found) return [text, undefined]
  return [
    text.slice(0, found.index) + text.slice(found.index + found[0].length),
    found[1]?.replaceAll('\r\n', '\n'),
  ]
}

function expectOldOrNew({ root, ours }: ReturnType<typeof plant>, before: Map<string, string>): void {
  const now = snapshotFolder(root)
  for (const [name, seen] of before) {
    if (!ours.has(name)) expect([name, now.get(name)]).toEqual([name, seen])
  }
  for (const name of now.keys()) {
    if (!before.has(name) && !ours.has(name))
      expect(lstatSync(join(root, name)).isDirectory() || name).toBe(true)
  }
  for (const [name, content] of ours) {
    if (now.get(name) === before.get(name)) continue
    if (name.endsWith('gone.md'))
      expect([name, content?.fate, existsSync(join(root, name))]).toEqual([name, 'write', false])
    else expect([name, isNew(name, content, readFileSync(join(root, name)))]).toEqual([name, true])
  }
}

const refusedIn = ({ ours }: ReturnType<typeof plant>, { force }: Tree): string[] =>
  [...ours]
    .filter(([, content]) => content?.fate === 'block' || (content?.fate === 'refuse' && !force))
    .map(([name]) => name)
    .toSorted()

test('refused: not a byte or a time has changed; else: all is new, nothing foreign is touched, and a second run rests', async () => {
  await fc.assert(
    fc.asyncProperty(tree, async (planted) => {
      const project = plant(planted)
      const before = snapshotFolder(project.outer)
      const inside = snapshotFolder(project.root)
      const plan = await planInstall(skill, project.options, unsyncedFileSystem)
      expect(snapshotFolder(project.outer)).toEqual(before)
      const report: Report = await applyPlan(plan, planted, unsyncedFileSystem)
      if (planted.sealed === undefined) {
        // A link to something that is blocked is not checked here: whether it is recognized depends on what blocks it.
        const printed = refusedFiles(plan, planted).map(({ path }) => path)
        expect(printed.filter((name) => project.ours.has(name)).toSorted()).toEqual(
          refusedIn(project, planted),
        )
      }
      if (report.refused.length > 0) {
        expect(snapshotFolder(project.outer)).toEqual(before)
        return
      }
      expect(report.failed).toBeUndefined()
      expectOldOrNew(project, inside)
      const after = snapshotFolder(project.outer)
      const again = await planInstall(skill, project.options, unsyncedFileSystem)
      expect(statusOf(again).state).toBe('current')
      await applyPlan(again, {}, unsyncedFileSystem)
      expect(snapshotFolder(project.outer)).toEqual(after)
    }),
    { numRuns: inject('everyCase') ? 35 : 10 },
  )
})

test('broken off at any call, by an error or by the end of the world: old or new, and the next run completes it', async () => {
  await fc.assert(
    fc.asyncProperty(tree, fc.nat(120), fc.boolean(), async (planted, calls, forEver) => {
      const project = plant({ ...planted, sealed: undefined })
      const before = snapshotFolder(project.root)
      const plan = await planInstall(skill, project.options, unsyncedFileSystem)
      let left = calls
      const fs = faultyFileSystem((call) => {
        if (call === 'sync') return 'skip'
        left--
        // Once: the program may still clear up. For ever: as if it had been killed.
        if (left === 0 || (forEver && left < 0)) throw fsError('EIO')
        return undefined
      })
      const report = await applyPlan(plan, { force: true }, fs)
      const temps = [...snapshotFolder(project.root).keys()].filter((name) => /\.svc-.*\.tmp$/.test(name))
      if (!forEver && left !== 0) expect(temps.length).toBeLessThanOrEqual(1)
      for (const temp of temps) rmSync(join(project.root, temp))
      expectOldOrNew(project, before)
      if (report.refused.length > 0) return
      const next = await applyPlan(
        await planInstall(skill, project.options, unsyncedFileSystem),
        { force: true },
        unsyncedFileSystem,
      )
      expect([next.failed, next.refused]).toEqual([undefined, []])
      expectOldOrNew(project, before)
      expect(statusOf(await planInstall(skill, project.options, unsyncedFileSystem)).state).toBe('current')
    }),
    { numRuns: inject('everyCase') ? 25 : 8 },
  )
})
