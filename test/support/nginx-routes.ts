/** Of an nginx configuration: which address a request goes to. Knows what our documentation uses. */

export type Route = { readonly host: string; readonly path: string; readonly to: URL }

export function nginxRoutes(configuration: string): Route[] {
  return [...configuration.matchAll(/^server \{\n(.*?)^\}$/gms)].flatMap(([, server = '']) => {
    const [, host = ''] = /^ *server_name (\S+);$/m.exec(server) ?? []
    return [...server.matchAll(/^ *location (\S+) \{ proxy_pass (\S+); \}$/gm)].map(
      ([, path = '', to = '']) => ({
        host,
        path,
        to: new URL(to),
      }),
    )
  })
}

/** The longest location that the path begins with. */
export const routeFor = (routes: readonly Route[], host: string, path: string): Route | undefined =>
  routes
    .filter((route) => route.host === host && path.startsWith(route.path))
    .toSorted((one, other) => other.path.length - one.path.length)[0]
