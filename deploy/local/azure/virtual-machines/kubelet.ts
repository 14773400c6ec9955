import { webcrypto } from 'node:crypto'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { Agent } from 'undici'
import type { KubeletStart } from '../boot/kubelet-start.ts'
import { bootId, nodeName, nodeObject, registeredNode } from '../boot/node-object.ts'
import { type BootResult, provision } from '../boot/provision.ts'
import type { SimulatorConfig } from '../server/config.ts'
import {
  aksConnection,
  Connection,
  csrObject,
  type NodeApi,
  operatorConnection,
  retrying,
  send,
  setProviderIdLater,
} from './kubelet-request.ts'
import type { Machine } from './machine.ts'
import type { Machines } from './machines.ts'

x509.cryptoProvider.set(webcrypto as never)

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
/** A kubelet tries for ever. This is longer than an API server is away, and than kube-controller-manager takes to sign again after that. */
const bootTimeoutMs = 600_000
const foreverSeconds = 365 * 24 * 3600

/**
 * What a booted VM does on the cluster: it is provisioned from its custom data, as a node image would be; then the kubelet that this
 * started bootstraps its certificate and registers its Node. In an instant cloud the operator registers that Node instead. kwok plays the rest of
 * the kubelet for as long as the Node carries its annotation.
 */
export class Kubelets {
  readonly #config: SimulatorConfig
  readonly #machines: Machines
  /** Of VMs that have a certificate, by name. */
  readonly #connections = new Map<string, Connection>()
  readonly #operator: NodeApi | undefined
  readonly #aks: NodeApi | undefined
  #running = 0
  #queue: (() => void)[] = []

  /** `api`: what all Nodes are made with, in place of the API server in the configuration. */
  constructor(config: SimulatorConfig, machines: Machines, api?: NodeApi) {
    this.#config = config
    this.#machines = machines
    this.#operator = api ?? operatorConnection(config)
    this.#aks = api ?? aksConnection(config)
  }

  /** Boots a VM. How it went stands in the machine's `boot`; what went wrong is logged as a console would show it. */
  async boot(machine: Machine): Promise<void> {
    const start = bootOf(machine)
    const hasCluster = this.#operator !== undefined || this.#config.kubernetes !== undefined
    if (!hasCluster || !machine.joins || start === undefined) return
    await this.#slot()
    try {
      const { exitCode, output, kubelet } = start()
      machine.boot = { exitCode, output }
      this.#machines.save(machine)
      if (kubelet === undefined) console.error(`${machine.name}: provisioning ended with ${exitCode}: ${output}`)
      else await this.#join(machine, kubelet)
    } catch (error) {
      const message = `kubelet: ${error instanceof Error ? error.message : String(error)}`
      machine.boot = {
        exitCode: machine.boot?.exitCode ?? 0,
        output: [machine.boot?.output, message].filter(Boolean).join('\n'),
      }
      this.#machines.save(machine)
      console.error(`${machine.name}: ${message}`)
    } finally {
      this.#running -= 1
      this.#queue.shift()?.()
    }
  }

  /** The VM is gone, stopped or frozen: its kubelet falls silent, so kwok must let go of the Node. */
  async silence(machine: Machine): Promise<void> {
    const connection = this.#connectionOf(machine)
    if (connection === undefined) return
    const name = nodeName(machine)
    const silenced = [
      connection.send({
        method: 'PATCH',
        path: `/api/v1/nodes/${name}`,
        body: { metadata: { annotations: { 'kwok.x-k8s.io/node': null } } },
      }),
      // kwok renews the lease of any node that it has had, until somebody else holds it.
      connection.send({
        method: 'PATCH',
        path: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}`,
        body: { spec: { holderIdentity: name, leaseDurationSeconds: foreverSeconds } },
      }),
    ]
    // Refused or not: the Node may be gone already.
    await Promise.allSettled(silenced)
    await this.#connections.get(machine.name)?.close()
    this.#connections.delete(machine.name)
  }

  /** Sets conditions of the Node, as a problem detector on it does. Without a Node nobody hears. */
  async report(machine: Machine, conditions: readonly Readonly<Record<string, string>>[]): Promise<void> {
    await this.#patchStatus(machine, { conditions })
  }

  /** Reports the boot ID of a VM that was restarted. */
  async reportBoot(machine: Machine): Promise<void> {
    await this.#patchStatus(machine, { nodeInfo: { bootID: bootId(machine) } })
  }

  async #patchStatus(machine: Machine, status: Readonly<Record<string, unknown>>): Promise<void> {
    const connection = this.#connectionOf(machine)
    if (connection === undefined) return
    const path = `/api/v1/nodes/${nodeName(machine)}/status`
    const body = { status }
    await connection.send({ method: 'PATCH', path, body, patch: 'strategic-merge' }).then(
      ({ status: code, text }) => {
        if (code >= 300) console.error(`${machine.name}: status was refused: ${code} ${text.slice(0, 300)}`)
      },
      (error: unknown) => console.error(`${machine.name}: status was not reported: ${String(error)}`),
    )
  }

  /** The connection of a VM that has joined; after a restart it is made again from its custom data. */
  #connectionOf(machine: Machine): NodeApi | undefined {
    const shared = this.#sharedBy(machine)
    if (shared !== undefined) return machine.boot === undefined ? undefined : shared
    const customData = machine.body.properties.osProfile?.customData
    const { credential } = machine
    if (credential === undefined || customData === undefined || this.#config.kubernetes === undefined) return undefined
    const open = this.#connections.get(machine.name)
    if (open !== undefined) return open
    const { kubelet } = provision(customData)
    return kubelet === undefined ? undefined : this.#connect(machine, kubelet, credential)
  }

  /** Who registers a VM's Node in place of its kubelet. */
  #sharedBy({ aksKubelet }: Machine): NodeApi | undefined {
    return this.#operator ?? (aksKubelet === undefined ? undefined : this.#aks)
  }

  async #join(machine: Machine, kubelet: KubeletStart): Promise<void> {
    const deadline = Date.now() + bootTimeoutMs
    const connection = this.#sharedBy(machine) ?? (await this.#certified(machine, kubelet, deadline))
    const { node, later } = registeredNode(nodeObject(machine, kubelet, this.#config), this.#config)
    const { identity } = kubelet
    const isByAks = machine.aksKubelet !== undefined
    const token = identity.kind === 'token' && !isByAks ? { bootstrapToken: identity.token } : {}
    await retrying(deadline, async () => {
      if (this.#isGone(machine)) return
      const answer = await connection.send({ method: 'POST', path: '/api/v1/nodes', body: node, ...token })
      if (answer.status !== 201 && answer.status !== 409)
        throw new Error(`Node was refused: ${answer.status} ${answer.text.slice(0, 300)}`)
    })
    machine.joined = true
    this.#machines.save(machine)
    if (later !== undefined && this.#aks !== undefined) setProviderIdLater(this.#aks, node, later)
  }

  /** The connection of a kubelet that has bootstrapped its certificate. */
  async #certified(machine: Machine, kubelet: KubeletStart, deadline: number): Promise<Connection> {
    machine.credential ??= await this.#credential(machine, kubelet, deadline)
    this.#machines.save(machine)
    return this.#connect(machine, kubelet, machine.credential)
  }

  #credential(
    machine: Machine,
    { identity, server, ca }: KubeletStart,
    deadline: number,
  ): NonNullable<Machine['credential']> | Promise<NonNullable<Machine['credential']>> {
    if (identity.kind === 'certificate') return { cert: identity.cert, key: identity.key }
    return this.#bootstrap(machine, { server, ca, token: identity.token, deadline })
  }

  #connect(machine: Machine, { server, ca }: KubeletStart, credential: NonNullable<Machine['credential']>): Connection {
    const agent = new Agent({ connect: { ca, ...credential }, connections: 1, keepAliveTimeout: 1000 })
    const connection = new Connection(server, agent)
    this.#connections.set(machine.name, connection)
    return connection
  }

  async #bootstrap(
    machine: Machine,
    input: { readonly server: string; readonly ca: string; readonly token: string; readonly deadline: number },
  ) {
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const csr = await x509.Pkcs10CertificateRequestGenerator.create({
      name: `O=system:nodes, CN=system:node:${nodeName(machine)}`,
      keys,
      signingAlgorithm: algorithm,
    })
    const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
    const agent = this.#sharedAgent(input.ca)
    const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
    const created = await retrying(input.deadline, async () => {
      const answer = await send(agent, {
        method: 'POST',
        url: `${input.server}${path}`,
        body: csrObject(csr.toString('pem')),
        token: input.token,
      })
      if (answer.status !== 201)
        throw new Error(`CertificateSigningRequest was refused: ${answer.status} ${answer.text.slice(0, 300)}`)
      return (JSON.parse(answer.text) as { metadata: { name: string } }).metadata.name
    })
    const cert = await retrying(input.deadline, async () => {
      const url = `${input.server}${path}/${created}`
      const answer = await send(agent, { method: 'GET', url, token: input.token })
      const issued =
        answer.status === 200
          ? (JSON.parse(answer.text) as { status?: { certificate?: string } }).status?.certificate
          : undefined
      if (issued === undefined) throw new Error('the certificate is not issued yet')
      return Buffer.from(issued, 'base64').toString()
    })
    return {
      cert,
      key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/(.{64})/g, '$1\n').trim()}\n-----END PRIVATE KEY-----\n`,
    }
  }

  #isGone(machine: Machine): boolean {
    return this.#machines.get(machine.name) !== machine || machine.state === 'Deleting' || machine.power !== 'running'
  }

  #shared: Agent | undefined
  #sharedAgent(ca: string): Agent {
    this.#shared ??= new Agent({ connect: { ca }, connections: 32 })
    return this.#shared
  }

  /** Many VMs boot at once on a small machine: so many at a time are enough. */
  #slot(): Promise<void> {
    this.#running += 1
    if (this.#running <= 48) return Promise.resolve()
    return new Promise((resolve) => this.#queue.push(resolve))
  }
}

/** How a VM's kubelet comes to be: AKS starts that of its machines, custom data the others. Undefined: nothing does. */
function bootOf({ aksKubelet, body }: Machine): (() => BootResult & { readonly kubelet?: KubeletStart }) | undefined {
  const { customData } = body.properties.osProfile ?? {}
  if (aksKubelet !== undefined)
    return () => ({
      exitCode: 0,
      output: 'configured by AKS',
      kubelet: { ...aksKubelet, server: '', ca: '', identity: { kind: 'token', token: '' } },
    })
  return customData === undefined ? undefined : () => provision(customData)
}
