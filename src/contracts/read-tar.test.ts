import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SOURCE_FILE_MAX_BYTES, SOURCE_FILES_MAX } from './limits.ts'
import { readTar } from './read-tar.ts'
import { writeTar } from './write-tar.ts'

const file = (path: string, text = 'x', isExecutable = false) => ({
  path,
  content: Buffer.from(text),
  isExecutable,
})
const readBack = (...files: ReturnType<typeof file>[]) => readTar(writeTar(files))
const problemsOf = (...paths: string[]) => readBack(...paths.map((path) => file(path))).problems

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-tar-'))
  onTestFinished(() => rmSync(made, { recursive: true }))
  return made
}

test('what was written is read back, whatever the names', () => {
  const segment = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  const path = fc.array(segment, { minLength: 1, maxLength: 8 }).map((segments) => segments.join('/'))
  fc.assert(
    fc.property(path, fc.uint8Array({ maxLength: 2000 }), fc.boolean(), (name, content, isExecutable) => {
      const { files, problems } = readTar(writeTar([{ path: name, content, isExecutable }]))
      if (problems.length > 0) return
      // Archives are made in a folder, and say so.
      const path = name.replace(/^(?:\.\/)+/, '')
      expect(files).toEqual([{ path, content: Buffer.from(content), isExecutable }])
    }),
  )
})

test('the archive of GNU tar is read, long names and modes included', () => {
  const source = folder()
  const long = `${'a'.repeat(60)}/${'b'.repeat(80)}/größe.txt`
  mkdirSync(join(source, dirname(long)), { recursive: true })
  writeFileSync(join(source, long), 'long')
  writeFileSync(join(source, 'run.sh'), '#!/bin/sh\n')
  chmodSync(join(source, 'run.sh'), 0o755)
  for (const format of ['gnu', 'pax', 'ustar']) {
    const tar = execFileSync('tar', ['-C', source, `--format=${format}`, '-cf', '-', '.'])
    const { files, problems } = readTar(tar)
    expect(problems).toEqual([])
    expect(
      files
        .map(({ path, isExecutable }) => [path, isExecutable])
        .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
    ).toEqual([
      [long, false],
      ['run.sh', true],
    ])
  }
})

test('GNU tar reads ours', () => {
  const target = folder()
  const long = `${'d'.repeat(90)}/${'e'.repeat(60)}/é.txt`
  const archive = join(target, 'a.tar')
  writeFileSync(archive, writeTar([file(long, 'hello'), file('b', '', true)]))
  execFileSync('tar', ['-C', target, '-xf', archive])
  expect(readFileSync(join(target, long), 'utf8')).toBe('hello')
})

describe('tricks', () => {
  test.each([
    ['/etc/passwd', 'is absolute'],
    ['C:/windows', 'is absolute'],
    ['a/../b', 'contains the segment ".."'],
    ['a//b', 'contains the segment ""'],
    ['a\\b', 'contains a backslash'],
    ['a\u202eb', 'contains control or invisible characters'],
    ['a\nb', 'contains control or invisible characters'],
    ['.GIT/hooks/post-checkout', 'lies in a .git folder'],
    ['x'.repeat(300), 'has a segment longer than 255 bytes'],
  ])('%j', (path, problem) => {
    expect(problemsOf(path)).toEqual([expect.stringContaining(problem)])
  })

  test('names that are one on some file systems', () => {
    expect(problemsOf('Readme.md', 'README.md')).toHaveLength(1)
    expect(problemsOf('caf\u00e9', 'cafe\u0301')).toHaveLength(1)
    expect(problemsOf('a', 'a')).toEqual(['"a": is there twice'])
    expect(problemsOf('a', 'a/b')).toEqual(['"a": is a file and a folder'])
    expect(problemsOf('Src/a', 'src/b')).toHaveLength(1)
    expect(problemsOf('src/a', 'src/b')).toEqual([])
  })

  test('links and pipes are named, each of them', () => {
    const source = folder()
    symlinkSync('/etc/passwd', join(source, 'link'))
    execFileSync('mkfifo', [join(source, 'pipe')])
    const { files, problems } = readTar(execFileSync('tar', ['-C', source, '-cf', '-', '.']))
    expect(files).toEqual([])
    expect([...problems].toSorted()).toEqual(['"link": is a symbolic link', '"pipe": is a pipe'])
  })

  test('a file that is too large, and too many files', () => {
    expect(readBack(file('big', 'x'.repeat(SOURCE_FILE_MAX_BYTES + 1))).problems).toEqual([
      '"big": is larger than 1 MiB',
    ])
    const many = Array.from({ length: SOURCE_FILES_MAX + 1 }, (_, i) => file(`f${i}`, ''))
    expect(readBack(...many).problems).toEqual([`There are more than ${SOURCE_FILES_MAX} files`])
  })

  test('nothing at all is a problem too', () => {
    expect(readTar(Buffer.alloc(1024)).problems).toEqual(['The archive contains no file'])
    expect(readTar(Buffer.alloc(0)).problems).toEqual(['The archive contains no file'])
  })

  test('any bytes end in files or problems, never in an exception', () => {
    const valid = writeTar([file('a', 'hello'), file('b'.repeat(150), 'long')])
    fc.assert(
      fc.property(fc.nat(valid.length - 1), fc.uint8Array({ minLength: 1, maxLength: 20 }), (at, noise) => {
        const damaged = Buffer.from(valid)
        damaged.set(noise.subarray(0, Math.min(noise.length, valid.length - at)), at)
        const { files, problems } = readTar(damaged)
        expect(files.length + problems.length).toBeGreaterThan(0)
      }),
      { numRuns: 500 },
    )
  })

  test('a list of problems has an end', () => {
    const links = Array.from({ length: 500 }, (_, i) => file(`/absolute${i}`))
    const { problems } = readBack(...links)
    expect([problems.length, problems.at(-1)]).toEqual([101, 'and 400 more'])
  })
})
