/** The site of a process. */
import { createServiceApp } from '../http/service-app.ts'
import { createSite } from '../site/app.ts'
import { asService, type Running } from './running.ts'
import type { Shared } from './shared.ts'
import { siteSkills } from './site-skills.ts'

export function buildSite({ config, observation, gateway }: Shared): Running {
  const consoleUrl = new URL('/console', config.APP_URL)
  const app = createSite({ ...observation, gateway, ...siteSkills(config), consoleUrl })
  return asService(createServiceApp('site', observation).route('/', app))
}
