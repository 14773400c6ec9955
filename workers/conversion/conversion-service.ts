import type { Logger } from 'pino'
import { ListWatch } from '../../activities/kubernetes/cache/list-watch.ts'
import { isConflict } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { markedCrd } from '../../activities/kubernetes/client/installation.ts'
import { resourcePath } from '../../activities/kubernetes/client/resources.ts'
import type { Json } from '../../api/conversion/residue.ts'
import { conversionService } from '../../core/installation.ts'
import { dueKeys, type Keys, keysOf, secretData, secretName } from './certificate-secret.ts'
import { conversionPatch, convertedCrds, servingPatch, trusts } from './custom-resources.ts'
import { WebhookThread } from './webhook-thread.ts'

/** Certificates last a year, so a look now and then is enough; what others change is reported by the watches. */
const lookEveryMs = 3_600_000
const retryMs = 1000

interface ConversionInput {
  readonly client: KubernetesClient
  readonly namespace: string
  readonly port: number
  readonly log: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called once, when old versions can be converted by this process. */
  readonly onServing: () => void
  /** Whether the CRDs are this installation's to write, by the one that carries its marker. */
  readonly mayWrite: (crd: Json) => Promise<boolean>
}

/**
 * Serves the conversion of old API versions, and sees to what it needs: a certificate and a path in one Secret that all replicas share, and CRDs
 * that trust it, point to this installation and serve what the chart's values ask for. Whatever somebody else takes away (a chart upgrade wipes
 * the CA bundle) is put back at once. It needs only the API server. Any replica may do any of it; the Secret's resource version decides who was first.
 */
export class ConversionService {
  readonly #input: ConversionInput
  readonly #watches: ListWatch[] = []
  readonly #crds = new Map<string, Json>()
  #secret: Json | undefined
  #listed = new Set<string>()
  readonly #webhook: WebhookThread
  #served = ''
  #running: Promise<void> | undefined
  #again = false
  #failures = 0
  #stopped = false
  #timer: NodeJS.Timeout | undefined

  constructor(input: ConversionInput) {
    this.#input = input
    const onServing = () => {
      input.onServing()
      this.#look()
    }
    this.#webhook = new WebhookThread({ ...input, onServing })
  }

  start(): void {
    const { namespace } = this.#input
    this.#watch(resourcePath('secrets', undefined, namespace), secretName, (secret) => {
      this.#secret = secret
    })
    for (const name of convertedCrds)
      this.#watch(resourcePath('customresourcedefinitions'), name, (crd) => {
        if (crd === undefined) this.#crds.delete(name)
        else this.#crds.set(name, crd)
      })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const watch of this.#watches) watch.stop()
    clearTimeout(this.#timer)
    await this.#webhook.stop()
  }

  /** Watches one object by its name, which is all that Joiner may read of its kind. */
  #watch(path: string, name: string, seen: (object: Json | undefined) => void): void {
    const reported = (object: Json | undefined) => {
      seen(object)
      this.#listed.add(name)
      this.#look()
    }
    const selector = new URLSearchParams({ fieldSelector: `metadata.name=${name}` })
    const watch = new ListWatch(
      { client: this.#input.client, path: `${path}?${selector.toString()}`, log: this.#input.log },
      {
        replaced: ([object]) => reported(object),
        changed: reported,
        deleted: () => reported(undefined),
        reached: () => {},
      },
    )
    this.#watches.push(watch)
    void watch.run()
  }

  /** Looks once more, after the look that runs now. */
  #look(): void {
    if (this.#stopped) return
    if (this.#running !== undefined) {
      this.#again = true
      return
    }
    clearTimeout(this.#timer)
    this.#again = false
    this.#running = this.#bringAbout()
      .then(() => {
        this.#failures = 0
        return lookEveryMs
      })
      .catch((error: unknown) => {
        this.#failures += 1
        if (this.#failures % 30 === 1 && !this.#stopped)
          this.#input.log.warn({ err: error }, 'failed to set up conversion webhook, retrying')
        return retryMs
      })
      .then((ms) => {
        this.#running = undefined
        if (this.#stopped) return
        if (this.#again) this.#look()
        else this.#timer = setTimeout(() => this.#look(), ms)
      })
  }

  async #bringAbout(): Promise<void> {
    if (!this.#listed.has(secretName)) return
    const keys = await this.#keys()
    if (keys === undefined) return
    this.#serve(keys)
    // The API server calls as soon as it knows whom to trust, and refuses requests for old versions where nobody answers.
    if (this.#webhook.port === undefined) return
    const { client, log, namespace, mayWrite } = this.#input
    const marked = this.#crds.get(markedCrd)
    // Two installations would undo each other's writes for ever.
    if (marked === undefined || !(await mayWrite(marked))) return
    for (const [name, crd] of this.#crds) {
      const patch = conversionPatch(crd, keys, namespace)
      if (patch === undefined) continue
      this.#crds.set(name, await client.mergePatch(resourcePath('customresourcedefinitions', name), patch))
      log.info({ crd: name }, 'registered conversion webhook certificate with the API server')
      this.#again = true
    }
    await this.#serveAsked()
  }

  /** Serves the old versions that the Secret asks for, which is after the API server knows who converts them. */
  async #serveAsked(): Promise<void> {
    const { client, log } = this.#input
    for (const [name, crd] of this.#crds) {
      const patch = this.#secret && servingPatch(name, crd, this.#secret)
      if (patch === undefined) continue
      const patched = await client.jsonPatch(resourcePath('customresourcedefinitions', name), patch)
      this.#crds.set(name, patched)
      log.info({ crd: name, patch }, 'changed which old versions the API server serves')
    }
  }

  /** The keys of the Secret, brought up to date. Undefined: another replica was first, and the watch will report what it wrote. */
  async #keys(): Promise<Keys | undefined> {
    const { client, namespace, log, now } = this.#input
    const before = this.#secret === undefined ? undefined : keysOf(this.#secret)
    // A local cluster's API server calls by the machine's own name.
    const names = [`${conversionService}.${namespace}.svc`, 'localhost']
    const isTrusted = ({ cert }: { readonly cert: string }) =>
      convertedCrds.every((name) => this.#listed.has(name)) &&
      [...this.#crds.values()].every((crd) => trusts(crd, cert))
    const keys = await dueKeys(before, { names, now: new Date(now()) }, isTrusted)
    if (keys === before) return keys
    try {
      this.#secret = await this.#write(client, namespace, keys)
    } catch (error) {
      if (isConflict(error)) return undefined
      throw error
    }
    log.info({ secret: `${namespace}/${secretName}` }, 'stored conversion webhook certificate')
    this.#again = keys.next !== undefined
    return keys
  }

  #write(client: KubernetesClient, namespace: string, keys: Keys): Promise<Json> {
    if (this.#secret === undefined)
      throw new Error(
        `Secret ${namespace}/${secretName} does not exist, and Joiner may not make it; the chart does: helm upgrade --install joiner deploy/chart --namespace ${namespace} --reset-then-reuse-values`,
      )
    const { resourceVersion } = this.#secret['metadata'] as { readonly resourceVersion: string }
    const path = resourcePath('secrets', secretName, namespace)
    return client.mergePatch(path, { metadata: { resourceVersion }, data: secretData(keys) })
  }

  #serve({ served, path }: Keys): void {
    const now = served.cert + path
    if (this.#served === now) return
    this.#served = now
    this.#webhook.use({ certificate: served, path })
  }
}
