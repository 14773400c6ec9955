import type { Extension, Machine } from './machine.ts'

/** The instance view of a VM: what the platform and the agent in the VM report. */
export function instanceView(machine: Machine): Record<string, unknown> {
  const extensions = Object.values(machine.extensions ?? {})
  const disk = machine.body.properties.storageProfile?.osDisk?.name
  return {
    ...(hasBooted(machine)
      ? {
          computerName: machine.body.properties.osProfile?.computerName ?? machine.name,
          osName: 'linux',
          osVersion: '24.04',
          hyperVGeneration: /gen2/i.test(JSON.stringify(machine.body.properties.storageProfile ?? {})) ? 'V2' : 'V1',
          vmAgent: {
            vmAgentVersion: '2.11.1.4',
            statuses: [
              {
                ...status(
                  'ProvisioningState/succeeded',
                  'Ready',
                  'GuestAgent is running and processing the extensions.',
                ),
                time: machine.provisionedAt ?? machine.timeCreated,
              },
            ],
          },
        }
      : {}),
    ...(disk === undefined
      ? {}
      : { disks: [{ name: disk, statuses: [status('ProvisioningState/succeeded', 'Provisioning succeeded')] }] }),
    ...(extensions.length === 0 ? {} : { extensions: extensions.map(extensionView) }),
    statuses: statuses(machine),
  }
}

/** The agent reports once a VM runs; whether its node joins is another matter. */
function hasBooted({ state, power, failure }: Machine): boolean {
  return failure === undefined && (state === 'Succeeded' || state === 'Updating') && power === 'running'
}

function statuses(machine: Machine): readonly Record<string, unknown>[] {
  const { state, failure, power } = machine
  if (state === 'Failed') {
    // What was never placed has no power state.
    const code = `ProvisioningState/failed/${failure?.code ?? 'UnknownError'}`
    return [{ ...status(code, 'Provisioning failed', failure?.message ?? ''), level: 'Error' }]
  }
  const shown = power === 'frozen' ? 'running' : power
  return [
    {
      ...status(`ProvisioningState/${state.toLowerCase()}`, state === 'Succeeded' ? 'Provisioning succeeded' : state),
      ...(machine.provisionedAt === undefined ? {} : { time: machine.provisionedAt }),
    },
    ...(state === 'Creating' ? [] : [status(`PowerState/${shown}`, `VM ${shown}`)]),
  ]
}

function extensionView({ name, properties, failure, state }: Extension): Record<string, unknown> {
  const failed =
    failure === undefined ? undefined : status('ProvisioningState/failed/1', 'Provisioning failed', failure.message)
  return {
    name,
    type: [properties['publisher'], properties['type']].join('.'),
    typeHandlerVersion: properties['typeHandlerVersion'],
    statuses: [
      failed === undefined
        ? status(`ProvisioningState/${state.toLowerCase()}`, state === 'Succeeded' ? 'Provisioning succeeded' : state)
        : { ...failed, level: 'Error' },
    ],
  }
}

function status(code: string, displayStatus: string, message?: string): Record<string, unknown> {
  return { code, level: 'Info', displayStatus, ...(message === undefined ? {} : { message }) }
}
