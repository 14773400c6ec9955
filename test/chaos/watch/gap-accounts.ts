import { ApiError } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'
import { detailsOfNode, type Said, saidOf, statusOf, whyNode, whyPod } from './answers.ts'
import { everyNth } from './wrong.ts'

/** What a command says of a NodeClaim or pod of that name, where this client reads the cluster; undefined: there is none. */
type Ask = (scene: Scene, name: string, client: KubernetesClient) => Promise<Said | undefined>

/** By what follows `joiner`. */
const commands: Readonly<Record<string, Ask>> = {
  status: (scene, _, client) => statusOf(scene, client),
  node: detailsOfNode,
  'why node': whyNode,
  'why pod': whyPod,
}
const ofTemporal: ReadonlySet<string> = new Set(['status', 'node'])

/** What nobody knows while Temporal is away. */
const unknown = ['no lifecycle runs', 'no disruption command is under way', 'all is well']

/** Asks for what cannot be read, in turn: an answer names what it lacks, or there is none. */
export class GapAccounts {
  readonly #scene: Scene
  readonly #commands: readonly (readonly [name: string, ask: Ask])[]
  #looks = 0
  /** How many things each command has asked the API server for. */
  readonly #asked = new Map<string, number>()

  /** `asked`: commands, by their names. */
  constructor(scene: Scene, asked = commands) {
    this.#scene = scene
    this.#commands = Object.entries(asked)
  }

  /** Returns the answers that hide what they lack. */
  async look(): Promise<readonly string[]> {
    const { fast, api } = this.#scene
    this.#looks += 1
    if (this.#looks % everyNth.gap !== 0 || api.isTroubled) return []
    return fast.temporal.isAway ? this.#withoutTemporal() : this.#withoutPart(this.#looks / everyNth.gap)
  }

  /** One of the things that a command asks for is refused. */
  async #withoutPart(turn: number): Promise<readonly string[]> {
    const [command, ask] = this.#commands[turn % this.#commands.length] as readonly [string, Ask]
    const name = this.#subjectOf(command)
    if (name === undefined) return []
    const at = Math.floor(turn / this.#commands.length) % (this.#asked.get(command) ?? 1)
    const refusing = new Refusing(this.#scene.fast.cluster.client, at, turn % 2 === 0 ? 403 : 500)
    const { text } = await saidOf(ask(this.#scene, name, refusing.client))
    this.#asked.set(command, refusing.paths.length)
    const { refused } = refusing
    if (refused === undefined) return []
    this.#scene.count(`gaps: ${command}`)
    return refusing.isNamedIn(text) ? [] : [`joiner ${command} ${name} does not say that ${refused} could not be read`]
  }

  async #withoutTemporal(): Promise<readonly string[]> {
    const asked = this.#commands.filter(([command]) => ofTemporal.has(command))
    const hiding = asked.map(async ([command, ask]) => {
      const name = this.#subjectOf(command)
      if (name === undefined) return []
      this.#scene.count('gaps: Temporal')
      const { text, isWhole } = await saidOf(ask(this.#scene, name, this.#scene.fast.cluster.client))
      const guess = unknown.find((words) => text.includes(words))
      return [
        ...(isWhole ? [`joiner ${command} ${name} answers as if Temporal were there`] : []),
        ...(guess === undefined ? [] : [`joiner ${command} ${name} says that ${guess} while Temporal is away`]),
      ]
    })
    return (await Promise.all(hiding)).flat()
  }

  /** The name of the object that a command is asked about; undefined: there is none. */
  #subjectOf(command: string): string | undefined {
    if (command === 'status') return ''
    const [subject] = this.#scene.fast.cluster.server.objects.of(command === 'why pod' ? 'pods' : 'nodeclaims')
    return subject && metaOf(subject).name
  }
}

/** A client to which the API server refuses one thing. */
class Refusing {
  readonly client: KubernetesClient
  /** What was asked for, each once. */
  readonly paths: string[] = []
  readonly #at: number
  readonly #status: 403 | 500

  /** `at`: which of the things that it is asked for. */
  constructor(client: KubernetesClient, at: number, status: 403 | 500) {
    this.#at = at
    this.#status = status
    this.client = new Proxy(client, {
      get: (target, name) => {
        const value = Reflect.get(target, name) as unknown
        if (name !== 'get' && name !== 'list') return value
        return async (path: string, ...rest: unknown[]) => {
          this.#ask(path)
          return (value as (...asked: unknown[]) => Promise<unknown>).call(target, path, ...rest)
        }
      },
    })
  }

  /** What was refused; undefined: it was not asked for. */
  get refused(): string | undefined {
    return this.paths[this.#at]
  }

  /** Whether an answer says so: with the reason, or that there is no right to read that. */
  isNamedIn(text: string): boolean {
    const [, resource = '', name = ''] = /\/([a-z]+)(?:\/([a-z0-9.-]+))?$/.exec(this.refused ?? '') ?? []
    const what = resource === 'configmaps' ? name : resource
    const isForbidden = this.#status === 403 && text.includes('no right to read')
    return text.includes(this.#reason) || (isForbidden && text.includes(what))
  }

  get #reason(): string {
    return `chaos refuses ${this.refused}`
  }

  #ask(path: string): void {
    if (!this.paths.includes(path)) this.paths.push(path)
    if (path === this.refused)
      throw new ApiError(this.#status, this.#status === 403 ? 'Forbidden' : 'InternalError', this.#reason)
  }
}
