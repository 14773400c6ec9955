import { webcrypto } from 'node:crypto'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { Agent, type Dispatcher, request } from 'undici'
import { sizes } from './catalogue.ts'
import type { SimulatorConfig } from './config.ts'
import type { Machine, Machines } from './machines.ts'

x509.cryptoProvider.set(webcrypto as never)

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const bootTimeoutMs = 120_000

interface NodeConfig {
  readonly api_server_config: { readonly api_server_name: string }
  readonly kubernetes_ca_cert: string
  readonly bootstrapping_config: { readonly tls_bootstrapping_token: string }
  readonly kubelet_config: {
    readonly kubelet_flags: Record<string, string>
    readonly kubelet_node_labels: Record<string, string>
  }
}

/** The node's own configuration, read out of its custom data as the boothook would write it to disk. */
function readNodeConfig(customData: string): NodeConfig {
  const document = Buffer.from(customData, 'base64').toString()
  const heredoc = /base64 -d <<-?'?"?(\w+)'?"?[^\n]*aks-node-controller-config\.json[^\n]*\n([\s\S]*?)\n\1/.exec(
    document,
  )
  if (heredoc?.[2] === undefined) throw new Error('custom data writes no aks-node-controller-config.json')
  return JSON.parse(Buffer.from(heredoc[2], 'base64').toString()) as NodeConfig
}

/**
 * What a booted VM does on the cluster: TLS bootstrapping with the token of its custom data, then its Node, as a kubelet registers it.
 * kwok plays the rest of the kubelet for as long as the Node carries its annotation.
 */
export class Kubelets {
  readonly #config: SimulatorConfig
  readonly #machines: Machines
  readonly #agents = new Map<string, Agent>()
  #running = 0
  #queue: (() => void)[] = []

  constructor(config: SimulatorConfig, machines: Machines) {
    this.#config = config
    this.#machines = machines
  }

  /** Boots a VM; what goes wrong is logged as a console would show it. */
  async boot(machine: Machine): Promise<void> {
    const customData = machine.body.properties.osProfile?.customData
    if (this.#config.kubernetes === undefined || !machine.joins || customData === undefined) return
    await this.#slot()
    try {
      await this.#join(machine, readNodeConfig(customData))
    } catch (error) {
      console.error(`${machine.name}: kubelet: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      this.#running -= 1
      this.#queue.shift()?.()
    }
  }

  /** The VM is gone, stopped or frozen: its kubelet falls silent, so kwok must let go of the Node. */
  async silence(machine: Machine): Promise<void> {
    const { credential } = machine
    if (credential === undefined || this.#config.kubernetes === undefined) return
    await this.#send(machine, credential, 'PATCH', `/api/v1/nodes/${nodeName(machine)}`, {
      metadata: { annotations: { 'kwok.x-k8s.io/node': null } },
    }).catch(() => {
      // The Node is gone already.
    })
    await this.#agents.get(machine.name)?.destroy()
    this.#agents.delete(machine.name)
  }

  async #join(machine: Machine, config: NodeConfig): Promise<void> {
    const server = this.#server(config)
    const ca = Buffer.from(config.kubernetes_ca_cert, 'base64').toString()
    const deadline = Date.now() + bootTimeoutMs
    machine.credential ??= await this.#bootstrap(machine, {
      server,
      ca,
      token: config.bootstrapping_config.tls_bootstrapping_token,
      deadline,
    })
    this.#machines.save(machine)
    await retrying(deadline, async () => {
      if (this.#isGone(machine)) return
      const answer = await this.#send(
        machine,
        machine.credential as NonNullable<Machine['credential']>,
        'POST',
        '/api/v1/nodes',
        this.#node(machine, config),
      )
      if (answer.status !== 201 && answer.status !== 409)
        throw new Error(`Node was refused: ${answer.status} ${answer.text.slice(0, 300)}`)
    })
    machine.joined = true
    this.#machines.save(machine)
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
      const answer = await send(agent, 'POST', `${input.server}${path}`, csrObject(csr.toString('pem')), input.token)
      if (answer.status !== 201)
        throw new Error(`CertificateSigningRequest was refused: ${answer.status} ${answer.text.slice(0, 300)}`)
      return (JSON.parse(answer.text) as { metadata: { name: string } }).metadata.name
    })
    const cert = await retrying(input.deadline, async () => {
      const answer = await send(agent, 'GET', `${input.server}${path}/${created}`, undefined, input.token)
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

  #server(config: NodeConfig): string {
    const name = config.api_server_config.api_server_name
    return `https://${name.includes(':') ? name : `${name}:443`}`
  }

  #isGone(machine: Machine): boolean {
    return this.#machines.get(machine.name) !== machine || machine.state === 'Deleting' || machine.power !== 'running'
  }

  #node(
    machine: Machine,
    { kubelet_config: { kubelet_flags: flags, kubelet_node_labels: given } }: NodeConfig,
  ): Record<string, unknown> {
    const { body } = machine
    const size = sizes.get(body.properties.hardwareProfile.vmSize)
    const zone = body.zones?.[0]
    const capacity = {
      cpu: String(size?.vCpus ?? 2),
      // Firmware and kernel keep a little of what the size promises.
      memory: `${Math.floor((size?.memoryGib ?? 8) * 1024 * 1024 * 0.96)}Ki`,
      'ephemeral-storage': `${(body.properties.storageProfile?.osDisk?.diskSizeGB ?? 128) * 1_000_000}k`,
      pods: flags['--max-pods'] ?? '110',
    }
    return {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: nodeName(machine),
        annotations: { 'kwok.x-k8s.io/node': 'fake' },
        labels: {
          ...given,
          'kubernetes.io/hostname': nodeName(machine),
          'kubernetes.io/os': 'linux',
          'kubernetes.io/arch': size?.family.arch === 'Arm64' ? 'arm64' : 'amd64',
          'node.kubernetes.io/instance-type': body.properties.hardwareProfile.vmSize,
          'topology.kubernetes.io/region': body.location,
          'topology.kubernetes.io/zone': zone === undefined ? '0' : `${body.location}-${zone}`,
        },
      },
      spec: {
        providerID: `azure:///subscriptions/${this.#config.subscriptionId}/resourceGroups/${this.#config.nodeResourceGroup.toLowerCase()}/providers/Microsoft.Compute/virtualMachines/${machine.name}`,
        taints: (flags['--register-with-taints'] ?? '').split(',').filter(Boolean).map(parseTaint),
      },
      status: { capacity, allocatable: allocatable(capacity, flags), nodeInfo: nodeInfo() },
    }
  }

  async #send(
    machine: Machine,
    credential: NonNullable<Machine['credential']>,
    method: Dispatcher.HttpMethod,
    path: string,
    body: unknown,
  ) {
    const config = readNodeConfig(machine.body.properties.osProfile?.customData ?? '')
    let agent = this.#agents.get(machine.name)
    if (agent === undefined) {
      agent = new Agent({
        connect: { ca: Buffer.from(config.kubernetes_ca_cert, 'base64').toString(), ...credential },
        connections: 1,
        keepAliveTimeout: 1000,
      })
      this.#agents.set(machine.name, agent)
    }
    return send(agent, method, `${this.#server(config)}${path}`, body)
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

/** A Node is named as its VM's computer. */
function nodeName(machine: Machine): string {
  return (machine.body.properties.osProfile?.computerName ?? machine.name).toLowerCase()
}

function csrObject(pem: string): Record<string, unknown> {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: 'node-csr-' },
    spec: {
      request: Buffer.from(`${pem}\n`).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    },
  }
}

function parseTaint(text: string): Record<string, string> {
  const [, key = '', value, effect = ''] = /^([^=:]+)(?:=([^:]*))?:(.+)$/.exec(text) ?? []
  return { key, effect, ...(value === undefined ? {} : { value }) }
}

function allocatable(
  capacity: Readonly<Record<string, string>>,
  flags: Readonly<Record<string, string>>,
): Record<string, string> {
  const reserved = Object.fromEntries(
    (flags['--kube-reserved'] ?? '')
      .split(',')
      .filter(Boolean)
      .map((entry) => entry.split('=')),
  ) as Record<string, string>
  const cpuMilli = Number(capacity['cpu']) * 1000 - Number((reserved['cpu'] ?? '0m').replace('m', ''))
  const memoryKib =
    Number((capacity['memory'] ?? '0Ki').replace('Ki', '')) - kib(reserved['memory'] ?? '0Mi') - 750 * 1024
  return { ...capacity, cpu: `${cpuMilli}m`, memory: `${memoryKib}Ki` }
}

function kib(text: string): number {
  const amount = Number.parseFloat(text)
  return text.endsWith('Gi') ? amount * 1024 * 1024 : text.endsWith('Mi') ? amount * 1024 : amount
}

function nodeInfo(): Record<string, string> {
  return {
    architecture: 'amd64',
    operatingSystem: 'linux',
    kubeletVersion: 'v1.36.3',
    kubeProxyVersion: 'v1.36.3',
    containerRuntimeVersion: 'containerd://2.1.0',
    kernelVersion: '6.8.0-azure',
    osImage: 'Ubuntu',
    machineID: '',
    systemUUID: '',
    bootID: '',
  }
}

async function send(
  dispatcher: Agent,
  method: Dispatcher.HttpMethod,
  url: string,
  body: unknown,
  token?: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await request(url, {
    method,
    dispatcher,
    headers: {
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.statusCode, text: await response.body.text() }
}

/** As a node does: tries again until it works or the boot time is over. */
async function retrying<T>(deadline: number, work: () => Promise<T>): Promise<T> {
  for (let delayMs = 40; ; delayMs = Math.min(delayMs * 1.5, 2000)) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() + delayMs > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}
