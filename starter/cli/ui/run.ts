import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { say } from '../../document/print.ts'
import { CommandError } from '../../document/reported-error.ts'
import { costReport, readCost } from '../../picture/cost.ts'
import { gapLines } from '../../picture/gaps.ts'
import { historyOf } from '../../picture/history.ts'
import { unanswered } from '../../picture/missing.ts'
import { ClusterWatch } from '../../picture/watch/from-watch.ts'
import { ClusterApi } from '../../ui/answers/cluster-api.ts'
import { notBuilt, readPage, startServer, type UiServer } from '../../ui/server/server.ts'
import { TemporalLink } from '../../ui/server/temporal-link.ts'
import { kubeconfigSource } from '../access/cluster.ts'
import { clusterFacts } from '../operate/operator.ts'
import { openTemporal } from '../operate/temporal-access.ts'
import type { TemporalOptions } from '../operate/temporal-options.ts'

const dayMs = 24 * 3_600_000
const longestMissing = 600

/** The last days, until now. */
const last = (days: number) => ({ sinceMs: Date.now() - days * dayMs, nowMs: Date.now() })

/** Serves the page until the process is to end. Returns the exit code. */
export async function runUi(options: UiOptions): Promise<number> {
  let client: KubernetesClient
  try {
    client = await KubernetesClient.load(kubeconfigSource(options))
  } catch (error) {
    console.error((error as Error).message)
    return 1
  }
  const closing: (() => void | Promise<void>)[] = [() => client.close()]
  try {
    const server = await serve(client, options, closing)
    const isShared = options.behindProxy !== undefined
    say(isShared ? `serving ${server.link} on port ${server.port}` : server.link)
    console.error(
      isShared ? 'read-only, for everybody whom the proxy lets through' : 'the link works once; Ctrl-C ends the page',
    )
    if (!isShared && options.open) openBrowser(server.link)
    await ended()
    return 0
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    console.error(error.message)
    return 1
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

/** Starts everything; what has to be closed at the end is added to `closing`. Errors: `CommandError`. */
async function serve(
  client: KubernetesClient,
  options: UiOptions,
  closing: (() => void | Promise<void>)[],
): Promise<UiServer> {
  const link = new TemporalLink(() => openTemporal(options))
  closing.push(() => link.close())
  void link.start()
  const watch = await watchCluster(client, options)
  closing.push(() => watch.close())
  const isShared = options.behindProxy !== undefined
  const api = new ClusterApi(
    {
      client,
      options,
      link,
      view: () => watch.view(),
      history: (days) => link.use((access) => historyOf(access, last(days))),
      cost: (days) =>
        link.use(async (access) =>
          costReport(await readCost({ access, kubernetes: client, namespace: options.joinerNamespace }, last(days))),
        ),
      by: asker(options),
      now: Date.now,
    },
    {
      cluster: options.clusterName ?? options.context ?? client.server,
      version: ownVersion(),
      isReadOnly: isShared || options.readOnly === true,
      canPlan: !isShared,
      ...(options.temporalUi ? { temporalUi: options.temporalUi } : {}),
    },
  )
  const source = { view: () => watch.view(), missing: () => [...gapLines(watch.view()), ...temporalMissing(link)] }
  const files = await readPage()
  if (!files.has('/')) console.error(`note: ${notBuilt.trim()}`)
  const server = await listen(options, () =>
    startServer({
      port: options.port,
      audience: options.behindProxy === undefined ? { kind: 'user' } : { kind: 'proxy', host: options.behindProxy },
      files,
      source,
      api,
    }),
  )
  closing.push(() => server.close())
  watch.onChange((change) => server.streams.change(change))
  return server
}

async function watchCluster(
  client: KubernetesClient,
  { joinerNamespace: namespace }: UiOptions,
): Promise<ClusterWatch> {
  try {
    return await ClusterWatch.start({ client, namespace })
  } catch (error) {
    throw new CommandError(`the cluster at ${client.server} cannot be read: ${unanswered(error)}`)
  }
}

async function listen({ port }: UiOptions, start: () => Promise<UiServer>): Promise<UiServer> {
  try {
    return await start()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new CommandError(`--port ${port}: another process listens on it; name another one, or leave it out`)
    if (code === 'EACCES')
      throw new CommandError(`--port ${port}: you may not listen on it; name one from 1024 on, or leave it out`)
    throw error
  }
}

function temporalMissing({ problem }: TemporalLink): readonly string[] {
  if (problem === undefined) return []
  const text = problem.replaceAll(/\s+/g, ' ').trim().slice(0, longestMissing)
  return [`decisions, cost, the history of nodes and actions: ${text}`]
}

/** Who asks is looked up once: a credential plugin may take a second. */
function asker(options: UiOptions): () => Promise<string> {
  let found: Promise<string> | undefined
  return () => {
    found ??= clusterFacts(options, { loop: 'disruption' }).then(({ by }) => by)
    return found
  }
}

function ownVersion(): string {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { readonly version: string }).version
}

/** Resolves at Ctrl-C, at the end of the terminal, or at a signal to end. A second time nothing is waited for. */
function ended(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        resolve()
        process.on(signal, () => process.exit(130))
      })
  })
}

/** Opens the link where there is somebody at a screen. It is printed as well, so failing is no error. */
function openBrowser(link: string): void {
  if (!process.stdout.isTTY) return
  const hasScreen = process.platform !== 'linux' || Boolean(process.env['DISPLAY'] ?? process.env['WAYLAND_DISPLAY'])
  if (!hasScreen) return
  const [program = '', ...args] =
    process.platform === 'darwin'
      ? ['open', link]
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', link]
        : ['xdg-open', link]
  const opener = spawn(program, args, { stdio: 'ignore', detached: true })
  opener.on('error', () => undefined)
  opener.unref()
}

/** How the page is served. */
export interface UiOptions extends TemporalOptions {
  /** 0: any that is free. */
  readonly port: number
  readonly readOnly?: true
  readonly open: boolean
  readonly behindProxy?: string
  readonly temporalUi?: string
}
