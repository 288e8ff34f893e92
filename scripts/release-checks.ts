/** What must be true of a version before it is released. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Manifest } from '../src/skills/read-published.ts'
import { changedSinceRelease, publishedSkills, readHistory } from './generated/skills.ts'

/** One sentence each. Files can be made before the changelog is closed. */
export function releaseProblems(root: string, { isPublished }: { isPublished: boolean }): string[] {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8')
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const { appVersion } = parse(read('chart/Chart.yaml')) as { appVersion: string }
  const manifest = JSON.parse(read('skills/published/manifest.json')) as Manifest
  const history = readHistory(root)
  const isStale = publishedSkills(root).some(
    ({ path, bytes }) => !readFileSync(join(root, path)).equals(bytes),
  )
  const problems: readonly (readonly [boolean, string])[] = [
    [appVersion !== version, `chart/Chart.yaml has appVersion ${appVersion}, package.json has ${version}`],
    [
      !read('compose.yaml').includes(`image: svc:${version}\n`),
      `compose.yaml does not have the image svc:${version}`,
    ],
    [isStale, 'skills/published is not fresh: npm run generate'],
    [
      history.releases.at(-1)?.version !== version || changedSinceRelease(history, manifest),
      `skills/history.json does not have the skills of ${version}: npm run release -- --skills`,
    ],
    [
      isPublished && sectionOf(read('CHANGELOG.md'), version) === undefined,
      `CHANGELOG.md has no section ${version}`,
    ],
  ]
  return problems.flatMap(([isProblem, message]) => (isProblem ? message : []))
}

/** The section of the changelog; of a version that has none yet, what is unreleased. */
export function releaseNotes(root: string, version: string): string {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
  return sectionOf(changelog, version) ?? sectionOf(changelog, 'Unreleased') ?? ''
}

function sectionOf(changelog: string, heading: string): string | undefined {
  const section = changelog.split(/^## /m).find((one) => one.split('\n', 1)[0]?.split(' ', 1)[0] === heading)
  return section?.slice(section.indexOf('\n')).trim().concat('\n')
}
