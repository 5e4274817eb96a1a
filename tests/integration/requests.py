"""A request for every method of the contract: the smallest that says something, about things that alice made."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from lavagna.v1 import activations_pb2 as activations
from lavagna.v1 import agents_pb2 as agents
from lavagna.v1 import boards_pb2 as boards
from lavagna.v1 import consensus_pb2 as consensus
from lavagna.v1 import entries_pb2 as entries
from lavagna.v1 import triggers_pb2 as triggers
from lavagna.v1 import watch_pb2 as watch

BOARD = "boards/main"
TRIGGER = "boards/main/triggers/on-task"
ACTIVATION = "boards/main/activations/1"
PROPOSAL = "design/000000000003-000"
TOKEN = "bm90IGEgdG9rZW4="

_PUT = entries.Put(value=entries.Value(json="1"))
_CHANGE = entries.Change(key="plan", put=_PUT, overwrite=True)
_TRIGGER = triggers.Trigger(on=[triggers.TriggerSource(pattern="tasks/{task}")])

REQUESTS: Mapping[str, Message] = {
    "/lavagna.v1.Boards/CreateBoard": boards.CreateBoardRequest(board_id="studio"),
    "/lavagna.v1.Boards/GetBoard": boards.GetBoardRequest(name=BOARD),
    "/lavagna.v1.Boards/ListBoards": boards.ListBoardsRequest(),
    "/lavagna.v1.Boards/UpdateBoard": boards.UpdateBoardRequest(
        board=boards.Board(name=BOARD, display_name="Main")
    ),
    "/lavagna.v1.Boards/DeleteBoard": boards.DeleteBoardRequest(name=BOARD),
    "/lavagna.v1.Boards/Compact": boards.CompactRequest(board=BOARD),
    "/lavagna.v1.Boards/Export": boards.ExportRequest(board=BOARD),
    "/lavagna.v1.Boards/SetRegion": boards.SetRegionRequest(
        board=BOARD, region=boards.Region(path="tasks")
    ),
    "/lavagna.v1.Boards/GetRegion": boards.GetRegionRequest(name="boards/main/regions/plan"),
    "/lavagna.v1.Boards/ListRegions": boards.ListRegionsRequest(board=BOARD),
    "/lavagna.v1.Boards/DeleteRegion": boards.DeleteRegionRequest(name="boards/main/regions/plan"),
    "/lavagna.v1.Agents/RegisterAgent": agents.RegisterAgentRequest(
        board=BOARD, agent_id="newcomer"
    ),
    "/lavagna.v1.Agents/GetAgent": agents.GetAgentRequest(name="boards/main/agents/alice"),
    "/lavagna.v1.Agents/ListAgents": agents.ListAgentsRequest(board=BOARD),
    "/lavagna.v1.Agents/RotateToken": agents.RotateTokenRequest(name="boards/main/agents/spare"),
    "/lavagna.v1.Agents/RevokeAgent": agents.RevokeAgentRequest(name="boards/main/agents/spare"),
    "/lavagna.v1.Agents/SetStanding": agents.SetStandingRequest(
        standing=agents.Standing(name="boards/main/agents/alice", trust=0.5)
    ),
    "/lavagna.v1.Agents/GetStanding": agents.GetStandingRequest(name="boards/main/agents/alice"),
    "/lavagna.v1.Agents/Hello": agents.HelloRequest(board=BOARD, session="a test"),
    "/lavagna.v1.Entries/Commit": entries.CommitRequest(board=BOARD, changes=[_CHANGE]),
    "/lavagna.v1.Entries/Get": entries.GetRequest(board=BOARD, key="plan"),
    "/lavagna.v1.Entries/BatchGet": entries.BatchGetRequest(board=BOARD, keys=["plan", "none"]),
    "/lavagna.v1.Entries/List": entries.ListRequest(board=BOARD),
    "/lavagna.v1.Entries/History": entries.HistoryRequest(board=BOARD, key="plan"),
    "/lavagna.v1.Entries/Diff": entries.DiffRequest(board=BOARD),
    "/lavagna.v1.Entries/Revert": entries.RevertRequest(
        board=BOARD, key="plan", version=1, overwrite=True
    ),
    "/lavagna.v1.Watch/Watch": watch.WatchRequest(board=BOARD, initial_state=True),
    "/lavagna.v1.Watch/Pull": watch.PullRequest(board=BOARD, after_revision=0),
    "/lavagna.v1.Consensus/Propose": consensus.ProposeRequest(
        board=BOARD, change=entries.Change(key="design", put=_PUT)
    ),
    "/lavagna.v1.Consensus/Vote": consensus.VoteRequest(
        board=BOARD,
        proposal_key=PROPOSAL,
        choice=consensus.CHOICE_ACCEPT,
        content_hash="of something else",
    ),
    "/lavagna.v1.Consensus/Withdraw": consensus.WithdrawRequest(
        board=BOARD, proposal_key=PROPOSAL, reason="enough"
    ),
    "/lavagna.v1.Consensus/GetProposal": consensus.GetProposalRequest(
        board=BOARD, proposal_key=PROPOSAL
    ),
    "/lavagna.v1.Consensus/ListProposals": consensus.ListProposalsRequest(board=BOARD),
    "/lavagna.v1.Consensus/WaitProposal": consensus.WaitProposalRequest(
        board=BOARD, proposal_key=PROPOSAL
    ),
    "/lavagna.v1.Consensus/Claim": consensus.ClaimRequest(
        board=BOARD, change=entries.Change(key="effort", put=_PUT)
    ),
    "/lavagna.v1.Consensus/ListClaims": consensus.ListClaimsRequest(board=BOARD, key="effort"),
    "/lavagna.v1.Consensus/Resolve": consensus.ResolveRequest(
        board=BOARD, key="effort", value=entries.Value(json="1")
    ),
    "/lavagna.v1.Consensus/Explain": consensus.ExplainRequest(board=BOARD, key="plan"),
    "/lavagna.v1.Triggers/SetTrigger": triggers.SetTriggerRequest(
        board=BOARD, trigger_id="another", trigger=_TRIGGER
    ),
    "/lavagna.v1.Triggers/GetTrigger": triggers.GetTriggerRequest(name=TRIGGER),
    "/lavagna.v1.Triggers/ListTriggers": triggers.ListTriggersRequest(board=BOARD),
    "/lavagna.v1.Triggers/SuspendTrigger": triggers.SuspendTriggerRequest(name=TRIGGER),
    "/lavagna.v1.Triggers/ResumeTrigger": triggers.ResumeTriggerRequest(name=TRIGGER),
    "/lavagna.v1.Triggers/DeleteTrigger": triggers.DeleteTriggerRequest(name=TRIGGER),
    "/lavagna.v1.Triggers/TryTrigger": triggers.TryTriggerRequest(
        board=BOARD, trigger_id="on-task"
    ),
    "/lavagna.v1.Activations/Acquire": activations.AcquireRequest(board=BOARD),
    "/lavagna.v1.Activations/Heartbeat": activations.HeartbeatRequest(board=BOARD, tokens=[TOKEN]),
    "/lavagna.v1.Activations/Complete": activations.CompleteRequest(
        board=BOARD, activation_token=TOKEN, changes=[_CHANGE]
    ),
    "/lavagna.v1.Activations/Fail": activations.FailRequest(
        board=BOARD, activation_token=TOKEN, retry_after=Duration(seconds=1)
    ),
    "/lavagna.v1.Activations/Release": activations.ReleaseRequest(board=BOARD, name=ACTIVATION),
    "/lavagna.v1.Activations/Hold": activations.HoldRequest(name=ACTIVATION),
    "/lavagna.v1.Activations/Cancel": activations.CancelRequest(name=ACTIVATION, reason="enough"),
    "/lavagna.v1.Activations/GetActivation": activations.GetActivationRequest(name=ACTIVATION),
    "/lavagna.v1.Activations/ListActivations": activations.ListActivationsRequest(board=BOARD),
    "/lavagna.v1.Activations/Replay": activations.ReplayRequest(name=ACTIVATION),
}
"""By the method's full name. A method that is missing here fails every test that walks the contract."""
