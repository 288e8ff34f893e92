/** The skills as they are published: fresh, the same wherever they are built, and never changed behind a version’s back. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  asRelease,
  changedSinceRelease,
  publishedSkills,
  readHistory,
} from '../../scripts/generated/skills.ts'
import { recordRelease } from '../../scripts/record-release.ts'
import type { History } from '../../src/skills/history.ts'
import { readPublishedSkills, type Manifest } from '../../src/skills/read-published.ts'
import { hasSameFiles, readReleasedSkills } from '../../src/skills/read-released.ts'
import { ROOT, filesUnder, readBytes, readText } from './source-tree.ts'

const manifest = JSON.parse(readText('skills/published/manifest.json')) as Manifest
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-skills-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('what is published is what the texts say, and nothing else lies there', () => {
  const fresh = publishedSkills(ROOT)
  for (const { path, bytes } of fresh)
    expect(readBytes(path).equals(bytes), `${path}: run npm run generate`).toBe(true)
  expect(filesUnder('skills/published')).toEqual(fresh.map(({ path }) => path).toSorted())
})

test('a build elsewhere, by somebody with another mask and clock, holds the same bytes before compression', () => {
  const copy = copyOfSources('elsewhere')
  rmSync(join(copy, 'skills/published'), { recursive: true })
  const script = `import { publishedSkills } from ${JSON.stringify(pathToFileURL(join(ROOT, 'scripts/generated/skills.ts')).href)}
    process.umask(0o077)
    console.log(JSON.stringify(publishedSkills(${JSON.stringify(copy)}).map(({ path, bytes }) => [path, bytes.toString('base64')])))`
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    env: { TZ: 'Asia/Tokyo', LC_ALL: 'C' },
  })
  const built = new Map(JSON.parse(said) as [string, string][])
  for (const { archive } of readPublishedSkills().skills) {
    if (!archive) continue
    const path = [...built.keys()].find(
      (name) => name.endsWith('.tar.gz') && readBytes(name).equals(archive.bytes),
    )
    const other = Buffer.from(built.get(path ?? '') ?? '', 'base64')
    expect(gunzipSync(other).equals(gunzipSync(archive.bytes))).toBe(true)
    // RFC 1952: no time, no name, no system.
    expect([...other.subarray(3, 8), other[9]]).toEqual([0, 0, 0, 0, 0, 255])
  }
})

test('an archive holds the entry and nine references at its root, as the texts are committed', () => {
  for (const { id, files, archive } of readPublishedSkills().skills) {
    expect(files[0]?.path).toBe('SKILL.md')
    expect(files).toHaveLength(archive ? 10 : 1)
    for (const { path, bytes, sha256: digest } of files) {
      expect(Buffer.from(bytes).toString('utf8')).toBe(readText(`skills/${id}/${path}`))
      expect(sha256(bytes)).toBe(digest)
    }
    if (archive) expect(archive.digest).toBe(`sha256:${sha256(archive.bytes)}`)
  }
})

test.each([
  ['svc.tar.gz', 'svc.tar.gz'],
  ['svc-faq/SKILL.md', 'svc-faq/SKILL.md'],
])('a damaged %s is named and not used', (file, named) => {
  const copy = copyOfSources(`damaged-${sha256(Buffer.from(file)).slice(0, 8)}`)
  const bytes = readBytes(`skills/published/${file}`)
  bytes[bytes.length - 5]! ^= 1
  writeFileSync(join(copy, 'skills/published', file), bytes)
  const at = pathToFileURL(join(copy, 'skills/published/'))
  expect(() => readPublishedSkills(at)).toThrow(`skills/published/${named} is not what its manifest says`)
})

describe('history', () => {
  test('a released version holds what it held', () => {
    expect(
      changedSinceRelease(readHistory(ROOT), manifest),
      'before its tag: npm run release -- --skills. After it: raise the version in package.json and in the skills',
    ).toBe(false)
  })

  test('a text, a file or a block that changes under a released version is noticed, a new version is not', () => {
    const released: History = { releases: [asRelease(manifest)] }
    const [svc, ...others] = manifest.skills
    const changed = (skill: Partial<typeof svc>): Manifest => ({
      ...manifest,
      skills: [{ ...svc!, ...skill }, ...others],
    })
    const [entry, ...references] = svc!.files
    expect(changedSinceRelease(released, manifest)).toBe(false)
    expect(
      changedSinceRelease(
        released,
        changed({ files: [{ ...entry!, sha256: '0'.repeat(64) }, ...references] }),
      ),
    ).toBe(true)
    expect(changedSinceRelease(released, changed({ files: [entry!] }))).toBe(true)
    expect(
      changedSinceRelease(released, changed({ agents_block: { body: 'Other words.\n', known: [] } })),
    ).toBe(true)
    expect(changedSinceRelease(released, { ...changed({ files: [entry!] }), version: '99.0.0' })).toBe(false)
  })

  test('what a release held is known later, also of files that are gone', () => {
    const copy = copyOfSources('later')
    const gone: History['releases'][number] = {
      version: '0.0.1',
      skills: {
        svc: {
          files: { 'SKILL.md': '1'.repeat(64), 'references/gone.md': '2'.repeat(64) },
          blocks: ['3'.repeat(64)],
        },
      },
    }
    writeFileSync(
      join(copy, 'skills/history.json'),
      JSON.stringify({ releases: [gone, asRelease(manifest)] }),
    )
    for (const { path, bytes } of publishedSkills(copy)) writeFileSync(join(copy, path), bytes)
    const [svc] = readPublishedSkills(pathToFileURL(join(copy, 'skills/published/'))).skills
    expect(svc!.known.get('SKILL.md')).toEqual(new Set(['1'.repeat(64), svc!.files[0]!.sha256]))
    expect(svc!.known.get('references/gone.md')).toEqual(new Set(['2'.repeat(64)]))
    expect(svc!.agentsBlock.known.size).toBe(3)
  })
})

describe('what the site serves', () => {
  const at = (copy: string) => pathToFileURL(join(copy, 'skills/'))
  const write = (copy: string, path: string, text: string) => writeFileSync(join(copy, path), text)

  test('is the newest release, and of this version the same files as the client installs', () => {
    const released = readReleasedSkills()
    expect(released?.version).toBe(readHistory(ROOT).releases.at(-1)?.version)
    expect(
      released === undefined ||
        released.version !== manifest.version ||
        hasSameFiles(released, readPublishedSkills()),
    ).toBe(true)
  })

  test('is nothing before the first release', () => {
    const copy = copyOfSources('unreleased')
    write(copy, 'skills/history.json', JSON.stringify({ releases: [] }))
    expect(readReleasedSkills(at(copy))).toBeUndefined()
  })

  test('stays as it was released while the texts of the checkout move on, until they are released, too', () => {
    const copy = copyOfSources('moved-on')
    write(copy, 'skills/history.json', JSON.stringify({ releases: [] }))
    recordRelease(copy, () => false)
    const before = readReleasedSkills(at(copy))!
    const own = () => readPublishedSkills(pathToFileURL(join(copy, 'skills/published/')))
    expect(hasSameFiles(before, own())).toBe(true)

    write(copy, 'skills/svc-faq/SKILL.md', `${readText('skills/svc-faq/SKILL.md')}\nMore.\n`)
    for (const { path, bytes } of publishedSkills(copy)) writeFileSync(join(copy, path), bytes)
    expect(readReleasedSkills(at(copy))).toEqual(before)
    expect(hasSameFiles(before, own())).toBe(false)

    // Tagged, so that people have it: the version must be raised.
    expect(() => recordRelease(copy, () => true)).toThrow('raise the version')
    // Not tagged yet: the entry is made anew.
    recordRelease(copy, () => false)
    expect(hasSameFiles(readReleasedSkills(at(copy))!, own())).toBe(true)
    expect(readHistory(copy).releases).toHaveLength(1)
  })

  test('is never something else than its history says', () => {
    const copy = copyOfSources('forged')
    recordRelease(copy, () => false)
    const { releases } = readHistory(copy)
    const [newest] = releases
    for (const other of [
      { ...newest!, version: '99.0.0' },
      { ...newest!, skills: { ...newest!.skills, more: { files: {}, blocks: [] } } },
      { ...newest!, skills: { ...newest!.skills, svc: { ...newest!.skills['svc']!, files: {} } } },
    ]) {
      write(copy, 'skills/history.json', JSON.stringify({ releases: [other] }))
      expect(() => readReleasedSkills(at(copy))).toThrow(
        'skills/released is not what skills/history.json says',
      )
    }
  })
})

function copyOfSources(name: string): string {
  const copy = join(folder, name)
  mkdirSync(copy)
  cpSync(join(ROOT, 'skills'), join(copy, 'skills'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'))
  return copy
}
