/** `svc context …`: the logins of this machine. */
import { confirm } from '../ask-person.ts'
import { changeLogins } from '../change-logins.ts'
import { chooseLogin, contextNamed, FROM_ENVIRONMENT } from '../choose-login.ts'
import type { Run } from '../command.ts'
import { configFiles, readLogins, type Context } from '../config-files.ts'
import { argument } from '../options.ts'

export const listContexts: Run = async (world) => {
  const { config } = readLogins(configFiles(world.machine))
  const contexts = Object.entries(config.contexts)
    .map(([name, context]) => described(name, context, config.current))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  world.print(
    { contexts },
    {
      columns: ['CURRENT', 'NAME', 'SERVER', 'PERSON', 'ORGANIZATION'],
      rows: contexts.map(({ name, current, api_url, user, organization }) => [
        current ? '*' : '',
        name,
        api_url,
        user.email,
        organization?.name,
      ]),
    },
  )
  if (world.machine.env['SVC_API_URL'] && world.machine.env['SVC_API_KEY']) {
    world.say('SVC_API_URL and SVC_API_KEY are set and count instead of these.')
  } else if (contexts.length === 0) {
    world.say('There are no logins yet: svc login --help')
  }
}

export const useContext: Run = async (world, call) => {
  const name = argument(call, 'name')
  const now = await changeLogins(configFiles(world.machine), ({ config }) => {
    const context = contextNamed(config, name)
    config.current = name
    return described(name, context, name)
  })
  if ((world.settings.format ?? 'table') !== 'table') world.print(now, { text: '' })
  world.say(`The context ${name} is the current one.`)
}

export const showContext: Run = async (world, call) => {
  const { config } = readLogins(configFiles(world.machine))
  // Without a name: the one that a call would use, with all that decides it.
  const name = call.args['name'] ?? chooseLogin(world.machine, world.settings.context).name
  if (name === FROM_ENVIRONMENT) {
    const { apiUrl } = chooseLogin(world.machine, FROM_ENVIRONMENT)
    world.print({ name, api_url: apiUrl.origin }, { fields: { name, server: apiUrl.origin } })
    return
  }
  const shown = described(name, contextNamed(config, name), config.current)
  world.print(shown, {
    fields: {
      name,
      current: shown.current ? 'yes' : 'no',
      server: shown.api_url,
      person: shown.user.email,
      organization: shown.organization?.name,
    },
  })
}

export const removeContext: Run = async (world, call) => {
  const name = argument(call, 'name')
  const files = configFiles(world.machine)
  contextNamed(readLogins(files).config, name)
  await confirm(world, call, `The login ${name} and its token are forgotten on this machine.`)
  await changeLogins(files, ({ config, credentials }) => {
    contextNamed(config, name)
    delete config.contexts[name]
    delete credentials.tokens[name]
    if (config.current === name) delete config.current
  })
  world.say(`Removed ${name}. Its token still opens the server: revoke it in the console if nobody needs it.`)
}

const described = (name: string, { api_url, user, organization }: Context, current: string | undefined) => ({
  name,
  current: name === current,
  api_url,
  user,
  organization,
})
