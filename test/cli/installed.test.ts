/** The client as installed: built, run by the machine's own Node, small where it matters. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installClient, machinesNode } from '../support/installed-client.ts'
import { readText } from '../repository/source-tree.ts'

const node = machinesNode()
let folder: string
let client: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-installed-'))
  mkdirSync(join(folder, 'home'))
  client = await installClient(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function svc(...args: string[]) {
  const env = { PATH: '/usr/bin:/bin', HOME: join(folder, 'home') }
  const { status, stdout, stderr } = spawnSync(node.path, [client, ...args], {
    env,
    encoding: 'utf8',
    cwd: folder,
  })
  return { status, stdout, stderr }
}

test(`it runs on ${node.version} with an empty home and no network`, () => {
  const { version } = JSON.parse(readText('package.json')) as { version: string }
  expect(svc('--version')).toEqual({ status: 0, stdout: `${version}\n`, stderr: '' })
  expect(svc('--help')).toMatchObject({ status: 0, stderr: '' })
  expect(svc('--skill-prompt')).toMatchObject({ status: 0, stderr: '' })
  expect(svc('status')).toMatchObject({ status: 3, stdout: '' })
  expect(svc('frobnicate')).toMatchObject({ status: 5, stdout: '' })
  expect(svc('skills', 'install', 'svc', '--user', '--no-agents')).toMatchObject({ status: 0, stderr: '' })
  expect(readFileSync(join(folder, 'home/.agents/skills/svc/SKILL.md'), 'utf8')).toBe(
    svc('skills', 'show', 'svc').stdout,
  )
})

test('in a checkout the sources count, however new the build looks', () => {
  mkdirSync(join(folder, '.git'))
  mkdirSync(join(folder, 'src/cli'), { recursive: true })
  writeFileSync(join(folder, 'src/cli/main.ts'), "const said: string = 'the sources'\nconsole.log(said)\n")
  const { stdout } = spawnSync(process.execPath, [client, 'status'], { encoding: 'utf8' })
  rmSync(join(folder, '.git'), { recursive: true })
  expect(stdout).toBe('the sources\n')
})

test('the reader of a pipe may close it early', () => {
  const { status, stderr } = spawnSync(
    '/bin/bash',
    ['-c', `set -o pipefail; "$0" "$1" completion bash | head -1`, node.path, client],
    {
      encoding: 'utf8',
    },
  )
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
})

/** One context, and one with a sign that shells split words at. */
function configFolder(): string {
  const config = join(folder, 'config')
  mkdirSync(config, { recursive: true })
  const context = { api_url: 'https://a.test', user: { id: 'usr_x', email: 'a@b.c' }, organization: null }
  const contexts = { work: context, 'work:2': context }
  writeFileSync(join(config, 'config.json'), JSON.stringify({ version: 1, contexts }))
  return config
}

test('bash completion completes commands, options and values, also in words that bash splits', () => {
  const file = join(folder, 'completion.bash')
  writeFileSync(file, svc('completion', 'bash').stdout)
  const config = configFolder()
  const completed = (...words: string[]) => {
    const typed = ['svc', ...words].map((word) => `'${word}'`).join(' ')
    const script = `svc() { '${node.path}' '${client}' "$@"; }; source ${file}
COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _svc; echo "\${COMPREPLY[@]}"`
    const env = { PATH: '/usr/bin:/bin', HOME: join(folder, 'home'), SVC_CONFIG_DIR: config }
    const { stdout, stderr } = spawnSync('/bin/bash', ['-c', script], { encoding: 'utf8', env })
    return stdout.trim() + stderr
  }
  expect(completed('db', 'c')).toBe('create connect')
  expect(completed('--json', 'skills', 'install', '--no-')).toBe('--no-agents --no-color')
  expect(completed('completion', 'z')).toBe('zsh')
  expect(completed('status', '-o', '')).toBe('table json yaml')
  expect(completed('context', 'use', '')).toBe('work work:2')
  // Split at = and :.
  expect(completed('status', '--output', '=')).toBe('table json yaml')
  expect(completed('status', '--output', '=', 'j')).toBe('json')
  expect(completed('context', 'use', 'work', ':')).toBe('2')
  expect(completed('agents', 'narrow', 'grt_x', '--scope', 'data', ':', 're')).toBe('read')
})

/** Runs a script in another shell, in which `svc` is the installed client. */
function inShell(shell: string, flags: readonly string[], script: string): string {
  const env = { PATH: process.env['PATH'], HOME: join(folder, 'home'), SVC_CONFIG_DIR: configFolder() }
  const { stdout, stderr } = spawnSync(shell, [...flags, '-c', script], {
    encoding: 'utf8',
    env,
    cwd: folder,
  })
  return stdout.trim() + stderr
}

const isMissing = (shell: string): boolean => spawnSync(shell, ['--version']).status !== 0

test('zsh completion completes commands, options and values', ({ skip }) => {
  skip(isMissing('zsh'), 'there is no zsh here')
  const file = join(folder, '_svc')
  writeFileSync(file, svc('completion', 'zsh').stdout)
  expect(spawnSync('zsh', ['--no-rcs', '-n', file], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  })
  // Both ways in: sourced, and loaded by its name when it is first asked. What zsh would show is printed.
  const shown = `_describe() { print -r -- "\${(@P)3%%$'\\t'*}" }; _files() { print files }
svc() { '${node.path}' '${client}' "$@" }`
  const completed = (...typed: string[]) => {
    const words = `words=(${['svc', ...typed].map((word) => `'${word}'`).join(' ')}); CURRENT=$#words`
    const sourced = inShell('zsh', ['--no-rcs'], `${shown}; compdef() {}; source ${file}; ${words}; _svc`)
    const loaded = `${shown}; fpath=(${folder} $fpath); autoload -U _svc; ${words}; _svc`
    expect(inShell('zsh', ['--no-rcs'], loaded)).toBe(sourced)
    return sourced
  }
  expect(completed('db', 'c')).toMatch(/^create:\S.* connect:\S/)
  expect(completed('--json', 'skills', 'install', '--no-')).toMatch(/^--no-agents:.* --no-color:/)
  expect(completed('context', 'use', '')).toBe('work:https://a.test work\\:2:https://a.test')
  expect(completed('apps', 'push', 'shop', './')).toBe('files')
})

test('fish completion completes commands, options and values', ({ skip }) => {
  skip(isMissing('fish'), 'there is no fish here')
  const file = join(folder, 'svc.fish')
  writeFileSync(file, svc('completion', 'fish').stdout)
  expect(spawnSync('fish', ['--no-execute', file], { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  })
  const completed = (typed: string) =>
    inShell(
      'fish',
      ['--no-config'],
      `function svc; '${node.path}' '${client}' $argv; end; source ${file}; complete -C '${typed}'`,
    )
      .split('\n')
      .map((line) => line.split('\t')[0])
  expect(completed('svc db c')).toEqual(['create', 'connect'])
  expect(completed('svc --json skills install --no-')).toEqual(['--no-agents', '--no-color'])
  expect(completed('svc completion z')).toEqual(['zsh'])
  expect(completed('svc status --output=j')).toEqual(['--output=json'])
  expect(completed('svc context use ')).toEqual(['work', 'work:2'])
  expect(completed(`svc apps push shop ./comp`)).toEqual(['./completion.bash'])
})

/** Each of these costs more than everything else the client does before it calls the server. */
test('nothing is loaded that a call does not need', () => {
  const files = readdirSync(join(folder, 'dist/cli'))
  const text = (start: string) =>
    readFileSync(
      join(
        folder,
        'dist/cli',
        files.find((name) => name.startsWith(start))!,
      ),
      'utf8',
    )
  expect(files.map((name) => readFileSync(join(folder, 'dist/cli', name), 'utf8')).join('')).not.toMatch(
    /\bzod\b|ZodObject/,
  )
  const required = (start: string) =>
    [...text(start).matchAll(/require\("([^"]+)"\)/g)].map(([, name]) => name!)
  const builtins = (start: string) => required(start).filter((name) => !name.startsWith('.'))
  expect(new Set(builtins('main'))).toEqual(new Set(['node:fs', 'node:os', 'url']))
  expect(new Set([...builtins('shared'), ...builtins('run-command')])).toEqual(
    new Set(['node:fs', 'node:path', 'node:timers/promises', 'node:util']),
  )
})
