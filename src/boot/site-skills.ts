/** What the site serves: the skills of the newest release, and the commit they come from. */
import { hasSameFiles, readReleasedSkills } from '../skills/read-released.ts'
import { readPublishedSkills } from '../skills/read-published.ts'
import type { SiteDeps } from '../site/app.ts'
import { buildCommit, buildTag } from './build-commit.ts'
import type { Config } from './config.ts'

export function siteSkills({ SVC_BUILD_COMMIT }: Config): Pick<SiteDeps, 'skills' | 'commit' | 'tag'> {
  const skills = readReleasedSkills()
  // A program whose texts have moved on is not the release, and does not know the release's commit.
  const isRelease = skills !== undefined && hasSameFiles(skills, readPublishedSkills())
  return {
    skills,
    commit: isRelease ? (SVC_BUILD_COMMIT ?? buildCommit()) : null,
    tag: isRelease ? buildTag(skills.version) : null,
  }
}
