import { clusterName } from '../../deploy/local/cluster.ts'
import type { World } from '../world.ts'

/** The agent pool in which AKS makes Joiner's nodes. */
export const machinesPool = 'machines'

/** Settings with which Joiner has AKS make its nodes. */
export const makingMachines = {
  PROVISION_MODE: 'aksmachineapi',
  AKS_MACHINES_POOL_NAME: machinesPool,
  ARM_RESOURCE_GROUP: `${clusterName}-group`,
  USE_SIG: 'true',
  SIG_SUBSCRIPTION_ID: '109a5e88-712a-48ae-9078-9ca8b3c81345',
} as const

/** Gives the AKS cluster the agent pool that `makingMachines` names. */
export async function addMachinesPool(world: World): Promise<void> {
  const arm = await world.arm()
  try {
    await arm.putAks(machinesPool, { properties: { mode: 'Machines' } })
  } finally {
    await arm.close()
  }
}
