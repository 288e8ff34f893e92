/** The way to git hosts, loaded with the first request: through the same guard and networks as notifications. */
import type { GitHosts } from '../cores/remotes/index.ts'
import type { Config } from './config.ts'

export function createGitHosts({ NOTIFY_ALLOW_NETS }: Config): GitHosts {
  let loaded: Promise<GitHosts> | undefined
  const load = async () => {
    const [{ gitHosts }, { outbound }] = await Promise.all([
      import('../adapters/git-hosts/index.ts'),
      import('../adapters/outbound/guarded-post.ts'),
    ])
    return gitHosts(outbound(NOTIFY_ALLOW_NETS).post)
  }
  const hosts = () => (loaded ??= load())
  return {
    check: async (remote) => (await hosts()).check(remote),
    open: async (remote, proposed) => (await hosts()).open(remote, proposed),
    look: async (remote, number) => (await hosts()).look(remote, number),
  }
}
