import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve, sep } from 'node:path'
import { ApiError, isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { CommandError } from '../../document/reported-error.ts'
import { unanswered } from '../../picture/missing.ts'

/** The chart's names; both are settled (deploy/chart/templates). */
const settingsName = 'joiner-settings'

type Settings = Record<string, string>

interface KeyOf {
  readonly name?: string
  readonly key?: string
}

interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef?: KeyOf; readonly configMapKeyRef?: KeyOf }
}

interface PodTemplate {
  readonly containers?: readonly {
    readonly env?: readonly Variable[]
    readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
  }[]
  readonly volumes?: readonly {
    readonly name: string
    readonly configMap?: { readonly name: string }
    readonly secret?: { readonly secretName: string }
  }[]
}

interface WantedSettings {
  readonly namespace: string
  readonly deployments: readonly string[]
  /** Whether a variable is of use here. */
  readonly wanted: (name: string) => boolean
}

/** Joiner's settings as its processes in the cluster have them, and what of them could not be read. */
export interface InstalledSettings {
  readonly settings: Readonly<Settings>
  readonly notes: readonly string[]
  /** Removes the files that settings name. */
  readonly dispose: () => void
}

/**
 * Reads Joiner's settings from the cluster: the ConfigMap `joiner-settings`, over which the Deployment's own variables stand. Files of Secrets and
 * ConfigMaps that they name are written to a folder of this process, which nobody else may read. What the caller may not read is left out, with a note.
 * Errors: `CommandError` where Joiner is not installed in the namespace, or its settings cannot be read.
 */
export async function installedSettings(
  client: KubernetesClient,
  { namespace, deployments, wanted }: WantedSettings,
): Promise<InstalledSettings> {
  const settings: Settings = { ...(await settingsMap(client, namespace)) }
  const notes: string[] = []
  const folder = mkdtempSync(join(tmpdir(), 'joiner-settings-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const dispose = removedAtEnd(remove)
  const reader = new Reader(client, namespace, notes)
  const template = await reader.template(deployments)
  const fileOf = async (path: string): Promise<string | undefined> => {
    const text = template && (await reader.mounted(template, path))
    const file = resolve(folder, `.${path}`)
    // A mount path is the chart's, but the cluster's owner may have changed it.
    if (text === undefined || !file.startsWith(folder + sep)) return undefined
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, text, { mode: 0o600 })
    return file
  }
  for (const variable of template?.containers?.[0]?.env ?? []) {
    if (!wanted(variable.name)) continue
    const value = await reader.valueOf(variable)
    if (value !== undefined) settings[variable.name] = value
  }
  for (const [name, value] of Object.entries(settings)) {
    const file = wanted(name) && isFile(name) ? await fileOf(value) : undefined
    if (file !== undefined) settings[name] = file
    // A path of the pod would be another file here, such as one with keys of the caller's own.
    else if (!wanted(name) || isFile(name)) delete settings[name]
  }
  return { settings, notes, dispose }
}

/** Has something removed however the process ends. Returns what removes it now. */
function removedAtEnd(remove: () => void): () => void {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const onSignal = (signal: NodeJS.Signals) => {
    dispose()
    // A command that has something to say at its end listens as well.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
  const dispose = () => {
    remove()
    process.off('exit', dispose)
    for (const signal of signals) process.off(signal, onSignal)
  }
  process.once('exit', dispose)
  for (const signal of signals) process.once(signal, onSignal)
  return dispose
}

const isFile = (name: string) => /_(PATH|FILE|FILEPATH)$/.test(name)

async function settingsMap(client: KubernetesClient, namespace: string): Promise<Settings> {
  try {
    const { data } = (await client.get(resourcePath('configmaps', settingsName, namespace))) as { data?: Settings }
    return data ?? {}
  } catch (error) {
    if (isNotFound(error))
      throw new CommandError(
        `there is no ConfigMap ${settingsName} in the namespace "${namespace}", so Joiner is not installed there; name its namespace by --joiner-namespace or JOINER_NAMESPACE (kubectl get configmaps -A --field-selector metadata.name=${settingsName})`,
      )
    throw new CommandError(
      `Joiner's settings, ConfigMap ${settingsName} in the namespace "${namespace}", cannot be read: ${unanswered(error)}`,
    )
  }
}

/** Reads what a pod would be given. */
class Reader {
  readonly #client: KubernetesClient
  readonly #namespace: string
  readonly #notes: string[]
  /** What was read, by path: several files and variables come from one Secret. */
  readonly #objects = new Map<string, Promise<object | undefined>>()

  constructor(client: KubernetesClient, namespace: string, notes: string[]) {
    this.#client = client
    this.#namespace = namespace
    this.#notes = notes
  }

  /** The pods of the first of these Deployments that is there: a small installation has one for everything. */
  async template(names: readonly string[]): Promise<PodTemplate | undefined> {
    const path = `/apis/apps/v1/namespaces/${encodeURIComponent(this.#namespace)}/deployments`
    for (const name of names) {
      const isLast = name === names.at(-1)
      const found = await this.#read<{ readonly spec?: { readonly template?: { readonly spec?: PodTemplate } } }>(
        `${path}/${name}`,
        isLast ? `Deployment ${name}` : undefined,
      )
      if (found !== undefined) return found.spec?.template?.spec
    }
    return undefined
  }

  async valueOf({ value, valueFrom }: Variable): Promise<string | undefined> {
    const { secretKeyRef, configMapKeyRef } = valueFrom ?? {}
    if (secretKeyRef?.name && secretKeyRef.key) return this.#secret(secretKeyRef.name, secretKeyRef.key)
    if (configMapKeyRef?.name && configMapKeyRef.key) return this.#configMap(configMapKeyRef.name, configMapKeyRef.key)
    return value
  }

  /** The text of a file that a Secret or ConfigMap is mounted as. */
  async mounted({ containers, volumes }: PodTemplate, path: string): Promise<string | undefined> {
    const mount = containers?.[0]?.volumeMounts?.find(({ mountPath }) => path.startsWith(`${mountPath}/`))
    const volume = volumes?.find(({ name }) => name === mount?.name)
    if (mount === undefined || volume === undefined) return undefined
    const key = path.slice(mount.mountPath.length + 1)
    if (volume.secret !== undefined) return this.#secret(volume.secret.secretName, key)
    return volume.configMap === undefined ? undefined : this.#configMap(volume.configMap.name, key)
  }

  async #secret(name: string, key: string): Promise<string | undefined> {
    const found = await this.#read<{ readonly data?: Settings }>(
      resourcePath('secrets', name, this.#namespace),
      `Secret ${name}`,
    )
    const data = found?.data?.[key]
    return data === undefined ? undefined : Buffer.from(data, 'base64').toString('utf8')
  }

  async #configMap(name: string, key: string): Promise<string | undefined> {
    const found = await this.#read<{ readonly data?: Settings }>(
      resourcePath('configmaps', name, this.#namespace),
      `ConfigMap ${name}`,
    )
    return found?.data?.[key]
  }

  #read<T extends object>(path: string, what?: string): Promise<T | undefined> {
    const found = this.#objects.get(path) ?? this.#ask(path, what)
    this.#objects.set(path, found)
    return found as Promise<T | undefined>
  }

  /** Undefined, with a note that `what` is missing, where the caller may not read it or it is not there. */
  async #ask(path: string, what: string | undefined): Promise<object | undefined> {
    try {
      return await this.#client.get(path)
    } catch (error) {
      if (!(error instanceof ApiError) || ![403, 404].includes(error.code)) throw error
      const why = error.code === 403 ? 'you may not read it' : 'it is not there'
      if (what !== undefined)
        this.#notes.push(`${what} in the namespace "${this.#namespace}": ${why}, so what it sets is missing here`)
      return undefined
    }
  }
}
