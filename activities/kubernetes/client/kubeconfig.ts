import { existsSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'

/** Where the address and the credentials of a cluster come from, as kubectl takes them. */
export interface KubeconfigSource {
  /** Of two entries of one name the first file's counts. Files that do not exist are left out, unless there is no other. */
  readonly files: readonly string[]
  /** A context of the files; unset: the current one. */
  readonly context?: string
  /** The user and groups that requests are made for, where the caller may impersonate them. */
  readonly as?: string
  readonly asGroups?: readonly string[]
}

/** Why a kubeconfig leads to no cluster, and what to do. */
export class KubeconfigError extends Error {
  readonly why: string
  readonly remedy: string

  constructor(why: string, remedy: string) {
    super(`${why}; ${remedy}`)
    this.why = why
    this.remedy = remedy
  }
}

/** The parts of a kubeconfig that are read here (https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/). */
interface Kubeconfig {
  readonly 'current-context'?: string
  readonly contexts?: readonly Named<'context', ContextEntry>[] | null
  readonly clusters?: readonly Named<'cluster', ClusterEntry>[] | null
  readonly users?: readonly Named<'user', UserEntry>[] | null
}

type Named<Key extends string, Entry> = { readonly name: string } & { readonly [key in Key]?: Entry | null }

interface ContextEntry {
  readonly cluster?: string
  readonly user?: string
  readonly namespace?: string
}

interface ClusterEntry {
  readonly server?: string
  readonly 'certificate-authority'?: string
  readonly 'certificate-authority-data'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'tls-server-name'?: string
  readonly 'proxy-url'?: string
}

interface UserEntry {
  readonly token?: string
  readonly tokenFile?: string
  readonly username?: string
  readonly password?: string
  readonly 'client-certificate'?: string
  readonly 'client-certificate-data'?: string
  readonly 'client-key'?: string
  readonly 'client-key-data'?: string
  readonly as?: string
  readonly 'as-uid'?: string
  readonly 'as-groups'?: readonly string[]
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>
  readonly exec?: ExecEntry
  readonly 'auth-provider'?: { readonly name?: string }
}

interface ExecEntry {
  readonly command?: string
  readonly apiVersion?: string
  readonly installHint?: string
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null
}

/** A context of a kubeconfig with its cluster and user. Paths in them are absolute. */
export interface ChosenContext {
  readonly name: string
  readonly namespace?: string
  readonly cluster: ClusterEntry & { readonly server: string }
  readonly user: UserEntry
}

/**
 * Reads kubeconfig files and returns the chosen context. Errors, each with the remedy: no file exists, a file cannot be read, there is no such context,
 * or it names no cluster.
 */
export function readKubeconfig(source: KubeconfigSource): ChosenContext {
  const present = source.files.filter((file) => existsSync(file))
  const all = source.files.join(', ')
  if (present.length === 0)
    throw new KubeconfigError(
      `kubeconfig ${all}: there is no such file`,
      'run az aks get-credentials, or name another by KUBECONFIG or --kubeconfig',
    )
  const configs = present.map(parsed)
  const name = source.context ?? configs.map((config) => config['current-context']).find(Boolean)
  const contexts = configs.flatMap(({ contexts: own }) => own ?? [])
  const context = contexts.find((one) => one.name === name)?.context
  const available = `name one by --context: ${contexts.map((one) => one.name).join(', ') || 'there is none'}`
  if (name === undefined) throw new KubeconfigError(`kubeconfig ${all}: current-context is not set`, available)
  if (!context) throw new KubeconfigError(`kubeconfig ${all}: there is no context "${name}"`, available)
  const cluster = configs.flatMap(({ clusters }) => clusters ?? []).find((one) => one.name === context.cluster)?.cluster
  if (!cluster?.server)
    throw new KubeconfigError(
      `kubeconfig ${all}: context "${name}" names no cluster with a server`,
      'correct it, or name another by --context',
    )
  const user = configs.flatMap(({ users }) => users ?? []).find((one) => one.name === context.user)?.user
  // As kubectl: requests of nobody would be answered with 401, which says nothing of the cause.
  if (context.user && !user)
    throw new KubeconfigError(
      `kubeconfig ${all}: context "${name}" names the user "${context.user}", of whom it has no credentials`,
      'run az aks get-credentials again, or name another context by --context',
    )
  const { as, asGroups } = source
  return {
    name,
    ...(context.namespace && { namespace: context.namespace }),
    cluster: { ...cluster, server: cluster.server.replace(/\/$/, '') },
    user: { ...user, ...(as !== undefined && { as }), ...(asGroups !== undefined && { 'as-groups': asGroups }) },
  }
}

function parsed(file: string): Kubeconfig {
  let config: Kubeconfig | null
  try {
    config = parse(readFileSync(file, 'utf8')) as Kubeconfig | null
  } catch (error) {
    throw new KubeconfigError(
      `kubeconfig ${file}: cannot be read: ${(error as Error).message.split('\n')[0]}`,
      'correct it, or name another by KUBECONFIG or --kubeconfig',
    )
  }
  if (config === null || typeof config !== 'object') return {}
  const folder = dirname(resolve(file))
  const absolute = <Entry extends object>(
    entry: Entry | null | undefined,
    keys: readonly string[],
  ): Entry | undefined =>
    entry == null
      ? undefined
      : (Object.fromEntries(
          Object.entries(entry).map(([key, value]) => [
            key,
            keys.includes(key) && typeof value === 'string' && value !== '' ? resolve(folder, value) : value,
          ]),
        ) as Entry)
  return {
    ...config,
    clusters: (config.clusters ?? []).map((one) => ({
      ...one,
      cluster: absolute(one.cluster, ['certificate-authority']) ?? null,
    })),
    users: (config.users ?? []).map((one) => {
      const user = absolute(one.user, ['client-certificate', 'client-key', 'tokenFile'])
      const command = user?.exec?.command ?? ''
      // As kubectl: a bare name is searched for on the PATH, a path is relative to the file.
      const exec = command.includes('/') ? absolute(user?.exec, ['command']) : user?.exec
      return { ...one, user: user === undefined ? null : { ...user, ...(exec && { exec }) } }
    }),
  }
}

/** The headers by which requests are made for somebody else (https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/). */
export function impersonation(user: UserEntry): Readonly<Record<string, string | readonly string[]>> {
  const extra = Object.entries(user['as-user-extra'] ?? {}).map(([key, values]) => [
    `impersonate-extra-${encodeURIComponent(key)}`,
    values,
  ])
  return {
    ...(user.as && { 'impersonate-user': user.as }),
    ...(user['as-uid'] && { 'impersonate-uid': user['as-uid'] }),
    ...(user['as-groups']?.length ? { 'impersonate-group': user['as-groups'] } : {}),
    ...Object.fromEntries(extra),
  }
}

/** The chosen context as a kubeconfig of its own, for the Kubernetes library. */
export function asKubeconfig({ name, cluster, user }: ChosenContext): string {
  const exec = user.exec && {
    ...user.exec,
    // Plugins that are written with Kubernetes' own library refuse to run without it.
    env: [
      ...(user.exec.env ?? []),
      {
        name: 'KUBERNETES_EXEC_INFO',
        value: JSON.stringify({
          kind: 'ExecCredential',
          apiVersion: user.exec.apiVersion,
          spec: { interactive: false },
        }),
      },
    ],
  }
  return JSON.stringify({
    'current-context': name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster }],
    users: [{ name, user: { ...user, ...(exec && { exec }) } }],
  })
}
