import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import {
  faultyFileSystem,
  fsError,
  snapshotFolder,
  scratchFolder,
} from '../../../test/support/faulty-file-system.ts'
import { CURRENT, EARLIER, EARLIER_BODY, toySkill } from '../../../test/support/toy-skill.ts'
import type { FileSystem } from './file-system.ts'
import {
  applyPlan,
  formatReport,
  installError,
  planInstall,
  refusedFiles,
  statusOf,
  dryRunPlan,
} from './install-skill.ts'

const skill = toySkill()
const base = scratchFolder()
afterAll(() => rmSync(base, { recursive: true }))

let count = 0
/** A project with these files in it, beside a folder that is none of it. */
function project(files: Record<string, string | Buffer> = {}) {
  const around = join(base, String(count++))
  const root = join(around, 'project')
  mkdirSync(join(root, '.git'), { recursive: true })
  mkdirSync(join(around, 'outside'))
  const path = (name: string) => join(root, name)
  const put = (name: string, content: string | Buffer) => {
    mkdirSync(dirname(path(name)), { recursive: true })
    writeFileSync(path(name), content)
  }
  const link = (name: string, to: string) => {
    mkdirSync(dirname(path(name)), { recursive: true })
    symlinkSync(to, path(name))
  }
  for (const [name, content] of Object.entries(files)) put(name, content)
  const options = { cwd: root, home: root, user: false, agents: true }
  return {
    around,
    root,
    path,
    put,
    link,
    options,
    read: (name: string) => readFileSync(path(name), 'utf8'),
    plan: (change: Partial<typeof options> = {}, fs?: FileSystem) =>
      planInstall(skill, { ...options, ...change }, fs),
    install: async (how: { force?: boolean } = {}, change: Partial<typeof options> = {}, fs?: FileSystem) =>
      applyPlan(await planInstall(skill, { ...options, ...change }), how, fs),
  }
}
const CLAUDE = '.claude/skills/toy'
const AGENTS = '.agents/skills/toy'
const release = (files: Record<string, string>, folder: string) =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]))
const temps = (root: string) => [...snapshotFolder(root).keys()].filter((path) => path.endsWith('.tmp'))

test('an empty project gets both folders and both files, and a second run touches nothing', async () => {
  const { root, read, install, plan } = project()
  const report = await install()
  expect(formatReport(report)).toEqual([
    `${CLAUDE}: created 3`,
    `${AGENTS}: created 3`,
    'AGENTS.md: created',
    'GEMINI.md: created',
  ])
  expect(installError(report)).toBeUndefined()
  for (const folder of [CLAUDE, AGENTS]) {
    for (const [path, text] of Object.entries(CURRENT)) expect(read(`${folder}/${path}`)).toBe(text)
  }
  expect(lstatSync(join(root, 'AGENTS.md')).mode & 0o777).toBe(0o644 & ~process.umask())
  const before = snapshotFolder(root)
  const again = await install()
  expect(formatReport(again)).toEqual([
    `${CLAUDE}: unchanged 3`,
    `${AGENTS}: unchanged 3`,
    'AGENTS.md: unchanged',
    'GEMINI.md: unchanged',
  ])
  expect(snapshotFolder(root)).toEqual(before)
  expect(statusOf(await plan()).state).toBe('current')
})

test.each([
  ['Claude Code in the project', ['CLAUDE.md'], [CLAUDE, AGENTS], ['AGENTS.md']],
  ['Gemini in the project', ['.gemini/settings.json'], [AGENTS], ['AGENTS.md', 'GEMINI.md']],
  ['both', ['.claude/settings.json', 'GEMINI.md'], [CLAUDE, AGENTS], ['AGENTS.md', 'GEMINI.md']],
])('writes for the agents that are there: %s', async (_, signs, folders, files) => {
  const { install } = project(Object.fromEntries(signs.map((sign) => [sign, ''])))
  const { targets, agents_files } = await install()
  expect(targets.map(({ dir }) => dir)).toEqual(folders)
  expect(agents_files.map(({ path }) => path)).toEqual(files)
})

test('writes for the agents that the home directory shows, also where the project shows none', async () => {
  const { around, install, path, put } = project()
  put('home/.claude/settings.json', '')
  const { targets, agents_files } = await install({}, { home: path('home') })
  expect([...targets.map(({ dir }) => dir), ...agents_files.map((file) => file.path)]).toEqual([
    CLAUDE,
    AGENTS,
    'AGENTS.md',
  ])
  const user = await install({}, { home: around, user: true })
  expect(user.targets.map(({ dir }) => dir)).toEqual([CLAUDE, AGENTS])
})

test('the report is a document for programs', async () => {
  const { root, plan } = project({ [`${AGENTS}/SKILL.md`]: 'mine' })
  expect(dryRunPlan(await plan({ agents: false }), { force: true })).toEqual({
    id: 'toy',
    version: '2.0.0',
    root,
    dry_run: true,
    targets: [
      {
        dir: CLAUDE,
        links: [],
        files: skill.files.map(({ path, sha256 }) => ({ path, action: 'created', sha256 })),
      },
      {
        dir: AGENTS,
        links: [],
        files: skill.files.map(({ path, sha256 }) => ({
          path,
          action: path === 'SKILL.md' ? 'overwritten' : 'created',
          sha256,
        })),
      },
    ],
    agents_files: [],
    refused: [],
  })
  expect(existsSync(join(root, '.claude'))).toBe(false)
})

test('an earlier release is updated, in the format of each file, and files that are no longer part of it are removed', async () => {
  const { root, read, put, path, install, plan } = project({
    ...release(EARLIER, CLAUDE),
    [`${CLAUDE}/SKILL.md`]: `\ufeff${EARLIER['SKILL.md'].replaceAll('\n', '\r\n').trimEnd()}`,
    [`${CLAUDE}/mine.md`]: 'mine',
    [`${CLAUDE}/references/mine.md`]: 'mine',
    '.gemini/settings.json': '{}',
    [`${AGENTS}/references/gone.md`]: 'edited, and no longer ours to judge',
  })
  chmodSync(path(`${CLAUDE}/references/one.md`), 0o600)
  put('AGENTS.md', `<!-- BEGIN svc-skill:toy -->\n${EARLIER_BODY}<!-- END svc-skill:toy -->\nmine`)
  expect(statusOf(await plan())).toMatchObject({
    state: 'outdated',
    targets: [{ state: 'outdated' }, { state: 'missing' }],
    agents_files: [{ state: 'outdated' }, { state: 'missing' }],
  })
  expect(formatReport(await install())).toEqual([
    `${CLAUDE}: updated 3, removed 1`,
    `${AGENTS}: created 3`,
    'AGENTS.md: updated',
    'GEMINI.md: created',
  ])
  expect(read(`${CLAUDE}/SKILL.md`)).toBe(`\ufeff${CURRENT['SKILL.md'].replaceAll('\n', '\r\n').trimEnd()}`)
  expect(lstatSync(path(`${CLAUDE}/references/one.md`)).mode & 0o777).toBe(0o600)
  expect(existsSync(path(`${CLAUDE}/references/gone.md`))).toBe(false)
  expect(read(`${AGENTS}/references/gone.md`)).toMatch(/^edited/)
  expect(read(`${CLAUDE}/mine.md`) + read(`${CLAUDE}/references/mine.md`)).toBe('minemine')
  expect(read('AGENTS.md')).toMatch(/^<!-- BEGIN svc-skill:toy -->\n## Toy[^]*END svc-skill:toy -->\nmine$/)
  const before = snapshotFolder(root)
  await install()
  expect(snapshotFolder(root)).toEqual(before)
})

test('an edited file is refused and nothing at all is written; --force overwrites it and leaves foreign files', async () => {
  const { around, read, install, plan } = project({
    ...release(EARLIER, CLAUDE),
    [`${AGENTS}/references/two.md`]: `${CURRENT['references/two.md']} mine\n`,
    'AGENTS.md': '<!-- BEGIN svc-skill:toy -->\nmine\n<!-- END svc-skill:toy -->\n',
    [`${AGENTS}/foreign.md`]: 'foreign',
    '.gemini/settings.json': '{}',
  })
  const before = snapshotFolder(around)
  expect(refusedFiles(await plan()).map(({ path }) => path)).toEqual([
    `${AGENTS}/references/two.md`,
    'AGENTS.md',
  ])
  expect(statusOf(await plan()).state).toBe('edited')
  const report = await install()
  expect(snapshotFolder(around)).toEqual(before)
  expect(formatReport(report)).toEqual([
    `${CLAUDE}: not written 4`,
    `${AGENTS}: not written 2, refused 1`,
    'AGENTS.md: refused',
    'GEMINI.md: not written',
  ])
  expect(installError(report)).toMatchObject({
    code: 'CONFLICT',
    hint: expect.stringContaining('with --force'),
    problems: [expect.stringMatching(/two\.md was edited/), expect.stringMatching(/^AGENTS\.md has a block/)],
  })
  const forced = await install({ force: true })
  expect(formatReport(forced).slice(1, 3)).toEqual([
    `${AGENTS}: created 2, overwritten 1`,
    'AGENTS.md: overwritten',
  ])
  expect(read(`${AGENTS}/references/two.md`)).toBe(CURRENT['references/two.md'])
  expect(read(`${AGENTS}/foreign.md`)).toBe('foreign')
})

test('a folder that is a link to the other is one target, and AGENTS.md that is a link stays one', async () => {
  const { path, link, put, read, install, root } = project()
  mkdirSync(path(AGENTS), { recursive: true })
  link(CLAUDE, '../../.agents/skills/toy')
  put('CLAUDE.md', 'mine\n')
  link('AGENTS.md', 'CLAUDE.md')
  link('GEMINI.md', 'AGENTS.md')
  expect(formatReport(await install())).toEqual([
    `${AGENTS} (also ${CLAUDE}): created 3`,
    'CLAUDE.md (also AGENTS.md, GEMINI.md): updated',
  ])
  expect(lstatSync(path('AGENTS.md')).isSymbolicLink() && lstatSync(path(CLAUDE)).isSymbolicLink()).toBe(true)
  expect(read('AGENTS.md').match(/BEGIN/g)).toHaveLength(1)
  const before = snapshotFolder(root)
  await install()
  expect(snapshotFolder(root)).toEqual(before)
})

test('a link whose target is yet to be made is followed inside the project', async () => {
  const { path, link, install } = project()
  link('.claude/skills', '../.agents/skills')
  link('AGENTS.md', 'GEMINI.md')
  expect(formatReport(await install())).toEqual([
    `${AGENTS} (also ${CLAUDE}): created 3`,
    'GEMINI.md (also AGENTS.md): created',
  ])
  expect(existsSync(path(`${CLAUDE}/SKILL.md`))).toBe(true)
})

test('AGENTS.md and GEMINI.md that are one file by a hard link both have the block afterwards', async () => {
  const { path, read, put, install } = project()
  put('AGENTS.md', 'mine\n')
  linkSync(path('AGENTS.md'), path('GEMINI.md'))
  expect((await install()).failed).toBeUndefined()
  expect(read('AGENTS.md')).toBe(read('GEMINI.md'))
  expect(read('AGENTS.md')).toMatch(/^mine\n\n<!-- BEGIN/)
})

type Project = ReturnType<typeof project>
test.each<[string, RegExp, (project: Project) => void]>([
  [
    'a file linked out of it',
    /^AGENTS.md is a link to outside/,
    ({ link }) => link('AGENTS.md', '../outside/file'),
  ],
  [
    'a folder linked out of it',
    /^\.claude.* link to outside/,
    ({ link, around }) => link('.claude', join(around, 'outside')),
  ],
  ['the project itself', /link to outside/, ({ link }) => link('AGENTS.md', '.')],
  [
    'out through a link to a link',
    /link to outside/,
    ({ link }) => (link('x', '..'), link('AGENTS.md', 'x/outside/new')),
  ],
  [
    'a reference linked out of it',
    /one\.md is a link to/,
    ({ link }) => link(`${CLAUDE}/references/one.md`, '/etc/hostname'),
  ],
  ['a circle', /circular/, ({ link }) => (link('GEMINI.md', 'AGENTS.md'), link('AGENTS.md', 'GEMINI.md'))],
  ['what git runs', /into \.git/, ({ link }) => link('.claude/skills', '../.git/hooks')],
  ['through nowhere and back', /missing folder/, ({ link }) => link('AGENTS.md', 'nowhere/../file')],
  [
    'a file where a folder should be',
    /needs a folder, but \.claude is a file/,
    ({ put }) => put('.claude', 'mine'),
  ],
  ['a folder where a file should be', /is a folder/, ({ path }) => mkdirSync(path('AGENTS.md'))],
  [
    'a FIFO',
    /not a regular file/,
    ({ path }) => execFileSync('sh', ['-c', 'mkfifo "$0"', path('GEMINI.md')]),
  ],
  ['a device', /link to outside/, ({ link }) => link('AGENTS.md', '/dev/zero')],
  [
    'a huge file',
    /16 MiB/,
    ({ put, path }) => (put('AGENTS.md', ''), truncateSync(path('AGENTS.md'), 2 ** 24 + 1)),
  ],
  [
    'a read-only file',
    /is read-only/,
    ({ put, path }) => (put('AGENTS.md', ''), chmodSync(path('AGENTS.md'), 0o444)),
  ],
  ['a read-only folder', /not writable/, ({ path }) => mkdirSync(path('.claude'), { mode: 0o555 })],
  ['damaged markers', /damaged/, ({ put }) => put('AGENTS.md', '<!-- BEGIN svc-skill:toy -->\nmine\n')],
  [
    'two files that are one',
    /linked to another file/,
    ({ link }) => link(`${CLAUDE}/SKILL.md`, 'references/one.md'),
  ],
  [
    'AGENTS.md that is the skill',
    /linked to another file/,
    ({ link }) => link('AGENTS.md', `${AGENTS}/SKILL.md`),
  ],
])('refused even when forced, with nothing written: %s', async (_, why, prepare) => {
  const own = project()
  prepare(own)
  const before = snapshotFolder(own.around)
  const report = await own.install({ force: true })
  expect(report.refused.map(({ path, why }) => `${path} ${why}`).join('\n')).toMatch(why)
  expect(report.refused.every(({ forceable }) => !forceable)).toBe(true)
  expect(installError(report)).toMatchObject({
    code: 'CONFLICT',
    hint: expect.stringContaining('Fix the listed'),
  })
  expect(snapshotFolder(own.around)).toEqual(before)
  expect(statusOf(await own.plan()).state).toBe('blocked')
})

test('what would be overwritten through a link is named', async () => {
  const { put, link, plan } = project()
  put('docs/mine.md', 'mine')
  link(`${CLAUDE}/SKILL.md`, '../../../docs/mine.md')
  expect(refusedFiles(await plan())).toMatchObject([{ path: `${CLAUDE}/SKILL.md (a link to docs/mine.md)` }])
})

test('names that a terminal would obey are not printed', async () => {
  const { put, link, install } = project()
  put('\u001b[2Jmine\u202e/x', '')
  link('AGENTS.md', '\u001b[2Jmine\u202e/new')
  // oxlint-disable-next-line no-control-regex -- those are meant
  expect(formatReport(await install()).join('')).not.toMatch(/[\u0000-\u001f\u202e]/)
})

test('the project is the nearest folder above that git keeps, otherwise the current one', async () => {
  const { root, path, put, plan } = project()
  mkdirSync(path('deep/er'), { recursive: true })
  expect((await plan({ cwd: path('deep/er') })).root).toBe(root)
  put('deep/.git', 'gitdir: elsewhere')
  expect((await plan({ cwd: path('deep/er') })).root).toBe(path('deep'))
  const apart = mkdtempSync(join(base, 'apart-'))
  expect((await plan({ cwd: apart })).root).toBe(apart)
  symlinkSync(path('deep/er'), join(apart, 'link'))
  expect((await plan({ cwd: join(apart, 'link') })).root).toBe(path('deep'))
  await expect(plan({ cwd: join(apart, 'nowhere') })).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})

test('at home, files lie where agents read them, and only for agents that are there', async () => {
  const { path, read, install } = project()
  mkdirSync(path('.codex'))
  mkdirSync(path('.codeium/windsurf'), { recursive: true })
  expect(formatReport(await install({}, { user: true }))).toEqual([
    `${CLAUDE}: created 3`,
    `${AGENTS}: created 3`,
    '.codeium/windsurf/skills/toy: created 3',
    '.codex/AGENTS.md: created',
  ])
  expect(read('.codex/AGENTS.md')).toContain('`~/.agents/skills/toy/SKILL.md`')
  await expect(install({}, { user: true, home: path('nowhere') })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
  })
})

test('agents with a folder of their own are served where they are used, unless it is a link out', async () => {
  const { path, link, plan } = project()
  mkdirSync(path('.kiro'))
  link('.windsurf', '../outside')
  expect((await plan()).targets.map(({ dir }) => dir)).toEqual([CLAUDE, AGENTS, '.kiro/skills/toy'])
})

const DISK_FULL = ['writeFile', 'sync', 'open', 'mkdir', 'rename'] as const
test.each(DISK_FULL)(
  'a disk that is full at %s leaves what was there, clears up and says so',
  async (which) => {
    const { root, read, install } = project({ ...release(EARLIER, CLAUDE), 'AGENTS.md': 'mine' })
    let calls = 0
    const fs = faultyFileSystem((call, path) => {
      if (
        call === which &&
        (call !== 'open' || path.endsWith('.tmp')) &&
        ++calls > (which === 'mkdir' ? 0 : 2)
      ) {
        throw fsError('ENOSPC')
      }
    })
    const report = await install({}, {}, fs)
    expect(report.failed).toMatchObject({
      code: 'UNEXPECTED',
      why: expect.stringContaining('the disk is full'),
    })
    expect(installError(report)).toMatchObject({ code: 'UNEXPECTED' })
    expect(temps(root)).toEqual([])
    expect(read('AGENTS.md')).toBe('mine')
    const done = report.targets[0]!.files.filter(({ action }) => action === 'updated').map(({ path }) => path)
    for (const { path } of skill.files) {
      expect(read(`${CLAUDE}/${path}`)).toBe(
        (done.includes(path) ? CURRENT : EARLIER)[path as keyof typeof CURRENT],
      )
    }
    expect((await install()).failed).toBeUndefined()
  },
)

/** Interferes once, right before this call on a path that matches. */
const before = (call: string, end: RegExp, interfere: () => void): FileSystem => {
  let done = false
  return faultyFileSystem((name, path) => {
    if (done || name !== call || !end.test(path)) return
    done = true
    interfere()
  })
}

test.each<[string, string, RegExp, (project: Project) => void]>([
  [
    'a file edited before the last look',
    'sync',
    /AGENTS\.md\.svc/,
    ({ put }) => put('AGENTS.md', 'mine, later'),
  ],
  [
    'a file made before the last look',
    'sync',
    /\.GEMINI\.md\.svc/,
    ({ put }) => put('GEMINI.md', 'mine, new'),
  ],
  [
    'a file become a link',
    'sync',
    /AGENTS\.md\.svc/,
    ({ path, link }) => (unlinkSync(path('AGENTS.md')), link('AGENTS.md', '../outside/file')),
  ],
  ['a file removed', 'sync', /AGENTS\.md\.svc/, ({ path }) => unlinkSync(path('AGENTS.md'))],
  [
    'a folder become a link before it is filled',
    'mkdir',
    /skills$/,
    ({ path, link }) => (rmSync(path('.claude'), { recursive: true }), link('.claude', '../outside')),
  ],
  [
    'a folder become a link before the rename',
    'sync',
    /SKILL\.md\.svc/,
    ({ path, link }) => (renameSync(path('.claude'), path('was')), link('.claude', '../outside')),
  ],
  [
    'a dangling link where a folder is to be',
    'mkdir',
    /\.agents$/,
    ({ link }) => link('.agents', '../outside/new'),
  ],
])('swapped between plan and write: %s', async (_, call, end, interfere) => {
  const own = project({ 'AGENTS.md': 'mine' })
  writeFileSync(join(own.around, 'outside/file'), 'foreign')
  const outside = snapshotFolder(join(own.around, 'outside'))
  const report = await own.install(
    {},
    {},
    before(call, end, () => interfere(own)),
  )
  expect(report.failed).toMatchObject({ code: 'CONFLICT' })
  expect(snapshotFolder(join(own.around, 'outside'))).toEqual(outside)
  // Whatever was put there meanwhile is there, and what we wrote before stands behind what was there.
  if (existsSync(own.path('AGENTS.md'))) {
    expect(own.read('AGENTS.md')).toMatch(/^(mine|mine, later|foreign)$|^mine\n\n<!-- BEGIN/)
  }
  expect(snapshotFolder(own.root).get('GEMINI.md') ?? 'mine, new').toContain('mine, new')
})

test('an earlier file edited before it would be removed stays', async () => {
  const own = project(release(EARLIER, CLAUDE))
  const removedFiles = `${CLAUDE}/references/gone.md`
  const report = await own.install(
    {},
    {},
    before('rename', /two\.md\.svc/, () => own.put(removedFiles, 'mine')),
  )
  expect(report.failed).toMatchObject({ code: 'CONFLICT', path: removedFiles })
  expect(own.read(removedFiles)).toBe('mine')
})

test('a file of an earlier release that lies behind a link is not removed', async () => {
  const { put, link, read, install } = project()
  put('docs/gone.md', EARLIER['references/gone.md'])
  link(`${CLAUDE}/references`, '../../../docs')
  expect((await install()).failed).toBeUndefined()
  expect(read('docs/gone.md')).toBe(EARLIER['references/gone.md'])
})

test('a skill that can be seen is whole: SKILL.md comes after its references, and what names it after that', async () => {
  const renamed: string[] = []
  const fs = faultyFileSystem((call, path) => {
    if (call === 'rename') renamed.push(/\.(\w+\.md)\.svc/.exec(path)?.[1] ?? path)
  })
  await project().install({}, {}, fs)
  const folder = ['one.md', 'two.md', 'SKILL.md']
  expect(renamed).toEqual([...folder, ...folder, 'AGENTS.md', 'GEMINI.md'])
})

test('the new file is as closed as the old one at every moment, and durable with its folder', async () => {
  const { root, path, put, install } = project()
  put('AGENTS.md', 'mine')
  chmodSync(path('AGENTS.md'), 0o600)
  const calls: string[] = []
  const fs = faultyFileSystem((call, path) => {
    if (path.includes('/.AGENTS.md.svc-') && call !== 'open') {
      expect(lstatSync(path).mode & 0o777).toBe(0o600)
      calls.push(call)
    } else if (path === root && call === 'sync') {
      calls.push('sync of the folder')
    }
  })
  expect((await install({}, {}, fs)).failed).toBeUndefined()
  const own = calls.slice(calls.indexOf('writeFile'), calls.indexOf('rename') + 2)
  expect(own).toEqual(['writeFile', 'chown', 'chmod', 'sync', 'rename', 'sync of the folder'])
})

// Nobody else can give a file away.
test.skipIf(process.getuid?.() !== 0)('under sudo a file stays its owner’s', async () => {
  const { path, put, install } = project()
  put('AGENTS.md', 'mine')
  chownSync(path('AGENTS.md'), 1234, 1235)
  await install()
  expect(lstatSync(path('AGENTS.md'))).toMatchObject({ uid: 1234, gid: 1235 })
})

test('a file that becomes a link between the look and the reading is not read', async () => {
  const own = project({ 'AGENTS.md': 'mine' })
  const fs = before('open', /AGENTS\.md$/, () => {
    unlinkSync(own.path('AGENTS.md'))
    own.link('AGENTS.md', '/etc/passwd')
  })
  expect(refusedFiles(await own.plan({}, fs))).toMatchObject([{ path: 'AGENTS.md', forceable: false }])
})

test('many installs at once end with one whole skill, and nobody fails', async () => {
  const { root, plan, install } = project(release(EARLIER, CLAUDE))
  const plans = await Promise.all(Array.from({ length: 6 }, () => plan()))
  const reports = await Promise.all(plans.map((each) => applyPlan(each)))
  expect(reports.map(({ failed }) => failed)).toEqual(reports.map(() => undefined))
  expect(temps(root)).toEqual([])
  const before = snapshotFolder(root)
  await install()
  expect(snapshotFolder(root)).toEqual(before)
})

test('temporary files of killed installs are cleared, and only those', async () => {
  const { path, put, link, install } = project({ 'AGENTS.md': 'mine' })
  const dead = execFileSync('sh', ['-c', 'echo $$']).toString().trim()
  const name = (file: string, pid: string | number) => `.${file}.svc-${pid}-0123456789ab.tmp`
  const old = new Date(Date.now() - 3 * 24 * 60 * 60 * 1000)
  const stale = [
    name('AGENTS.md', dead),
    `${CLAUDE}/${name('SKILL.md', dead)}`,
    name('GEMINI.md', process.ppid),
  ]
  const kept = [
    name('AGENTS.md', process.ppid),
    name('AGENTS.md', process.pid),
    name('mine.md', dead),
    `${AGENTS}/${name('AGENTS.md', dead)}`,
    `.AGENTS.md.svc-${dead}-0123.tmp`,
    `AGENTS.md.svc-${dead}-0123456789ab.tmp`,
    `deep/${name('AGENTS.md', dead)}`,
  ]
  for (const file of [...stale, ...kept]) put(file, 'half')
  put('.gemini/settings.json', '{}')
  utimesSync(path(stale[2]!), old, old)
  mkdirSync(path(`${AGENTS}/${name('SKILL.md', dead)}`))
  link(name('GEMINI.md', dead), 'AGENTS.md')
  await install()
  expect(lstatSync(path(name('GEMINI.md', dead))).isSymbolicLink()).toBe(true)
  expect(stale.filter((file) => existsSync(path(file)))).toEqual([])
  expect(kept.filter((file) => !existsSync(path(file)))).toEqual([])
  expect(readdirSync(path(AGENTS))).toContain(name('SKILL.md', dead))
})
