import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import type { Hold } from '../faults/gate.ts'
import { Proxy } from '../proxy.ts'
import { World } from '../world.ts'

/** A world whose Joiner can be stopped in the midst of a request: between it and the API server stands a proxy, and another between it and Azure. */
export class Durable {
  readonly world: World
  readonly proxy: Proxy
  readonly azure: Proxy
  readonly #proxied: Readonly<Record<string, string>>

  private constructor(
    world: World,
    proxies: { readonly proxy: Proxy; readonly azure: Proxy; readonly kubeconfig: string },
  ) {
    this.world = world
    this.proxy = proxies.proxy
    this.azure = proxies.azure
    this.#proxied = { KUBECONFIG: proxies.kubeconfig, JOINER_ARM_ENDPOINT: proxies.azure.address }
  }

  /** Starts everything, Joiner too, whose NodePool keeps what it has. */
  static async start(): Promise<Durable> {
    const world = await World.start({ cloud: 'instant' })
    const [before, azure] = await Promise.all([Proxy.beforeApiServer(world), Proxy.beforeAzure(world)])
    const durable = new Durable(world, { ...before, azure })
    durable.startBehindProxies('joiner')
    await world.apply(
      nodePool({ consolidateAfter: 'Never' }),
      nodeClass(),
      deployment({ apart: true, nodeSelector: small }),
    )
    await world.untilReady('general')
    return durable
  }

  startBehindProxies(name: string): void {
    this.world.startJoiner(name, { ...resync, ...this.#proxied })
  }

  startDirect(name: string): void {
    this.world.startJoiner(name, resync)
  }

  async untilReached(what: string, hold: Hold): Promise<void> {
    await this.world.until(`a request is held: ${what}`, async () => hold.isReached)
  }

  async stop(): Promise<void> {
    this.proxy.stop()
    this.azure.stop()
    await this.world.stop()
  }
}

/** No pod of the Deployment takes the room of a pod that needs a larger node. */
const small = { 'karpenter.azure.com/sku-cpu': '2' }

const resync = { JOINER_RESYNC_INTERVAL: '3s' }
