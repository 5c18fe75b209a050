// saturated.cc - MAC-level measurements of ns-3's lr-wpan model (written against ns-3.37).
//
// One run and one line of figures each (--header=1 names the columns):
//   csma    n saturated senders and one sink, everybody in range at equal strength;
//   hidden  two saturated senders deaf to each other, the second --gap dB weaker at the sink;
//   per     lone unacknowledged broadcasts at --snr dB: loss, and the formula of Annex E.
// A saturated sender asks for its next frame in the confirm of the last one. --capture=0 adds a
// receive error model that kills every frame overlapped by another (ns-3 itself does not).
//
// Build (the flags are written out, for Debian's .pc files carry a stray "-I/usr;"):
//   g++ -std=c++17 -O2 -Wall -o saturated saturated.cc -lns3-lr-wpan -lns3-spectrum
//       -lns3-propagation -lns3-mobility -lns3-antenna -lns3-network -lns3-stats -lns3-core
// Run:
//   ./saturated --mode=csma --n=5 --len=120 --time=120 --seed=1 --header=1
//   ./saturated --mode=hidden --len=120 --retries=0 --gap=2
//   ./saturated --mode=per --len=20 --snr=-2 --frames=2000

#include <ns3/constant-position-mobility-model.h>
#include <ns3/core-module.h>
#include <ns3/error-model.h>
#include <ns3/lr-wpan-error-model.h>
#include <ns3/lr-wpan-net-device.h>
#include <ns3/lr-wpan-spectrum-value-helper.h>
#include <ns3/node.h>
#include <ns3/packet.h>
#include <ns3/propagation-delay-model.h>
#include <ns3/propagation-loss-model.h>
#include <ns3/single-model-spectrum-channel.h>
#include <ns3/spectrum-value.h>

#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

using namespace ns3;

namespace {

constexpr uint16_t PAN = 1;
constexpr uint32_t OVERHEAD = 11;  // FCF 2, DSN 1, PAN 2, addresses 2 + 2, FCS 2
constexpr uint32_t ACK_OCTETS = 5;
constexpr double STRONG_LOSS_DB = 50, DEAF_LOSS_DB = 200;

bool IsAck(Ptr<const Packet> packet) { return packet->GetSize() == ACK_OCTETS; }

/// Which frames (packet uids) are on the air, and which have met another one there.
struct Air {
    std::set<uint64_t> active;
    std::set<uint64_t> overlapped;
    bool ack{false};  ///< an ACK is on the air
    Time start;       ///< counting begins here

    void Begin(Ptr<const Packet> packet) {
        overlapped.erase(packet->GetUid());  // a retransmission keeps its uid
        active.insert(packet->GetUid());
        if (active.size() > 1) {
            overlapped.insert(active.begin(), active.end());
        }
        ack = ack || IsAck(packet);
    }
    void End(Ptr<const Packet> packet) {
        active.erase(packet->GetUid());
        ack = ack && !IsAck(packet);
    }
    bool Counting() const { return Simulator::Now() >= start; }
};

/// Receive error model under which no frame survives an overlap.
class NoCapture : public ErrorModel {
  public:
    explicit NoCapture(const Air& air) : m_air(air) {}

  private:
    bool DoCorrupt(Ptr<Packet> packet) override { return m_air.overlapped.count(packet->GetUid()) > 0; }
    void DoReset() override {}
    const Air& m_air;
};

struct Counts {
    uint64_t acked{0};       ///< confirms: success
    uint64_t noAck{0};       ///< confirms: retries used up
    uint64_t accessFail{0};  ///< confirms: channel access failure
    uint64_t sent{0};        ///< data frames put on the air
    uint64_t intoAck{0};     ///< of these, begun while the sink was sending an ACK
    uint64_t received{0};    ///< data frames, repeats included, that came through to this MAC
    void Add(const Counts& other) {
        acked += other.acked;
        noAck += other.noAck;
        accessFail += other.accessFail;
        sent += other.sent;
        intoAck += other.intoAck;
    }
};

/// A node: its device and, if it is a sender, the loop that keeps it saturated.
class Station : public SimpleRefCount<Station> {
  public:
    Station(uint8_t id, Ptr<SpectrumChannel> channel, Vector where, Air& air) : m_air(air) {
        const uint8_t octets[2] = {0, id};
        Mac16Address address;
        address.CopyFrom(octets);
        auto node = CreateObject<Node>();
        mobility->SetPosition(where);
        node->AggregateObject(mobility);
        device->SetChannel(channel);
        node->AddDevice(device);
        auto mac = device->GetMac();
        mac->SetShortAddress(address);
        mac->SetPanId(PAN);
        mac->SetMcpsDataConfirmCallback(MakeCallback(&Station::OnConfirm, this));
        mac->TraceConnectWithoutContext("MacRx", MakeCallback(&Station::OnRx, this));
        auto phy = device->GetPhy();
        phy->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Station::OnTxBegin, this));
        phy->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&Station::OnTxEnd, this));
    }

    /// Keep sending frames of `psdu` octets, at most `limit` of them.
    void Saturate(Mac16Address dst, uint32_t psdu, bool ack, uint64_t limit) {
        m_psdu = psdu;
        m_left = limit;
        m_request.m_dstPanId = PAN;
        m_request.m_dstAddr = dst;
        m_request.m_txOptions = ack ? TX_OPTION_ACK : TX_OPTION_NONE;
        auto offset = CreateObject<UniformRandomVariable>();
        Simulator::Schedule(Seconds(offset->GetValue(0.1, 0.2)), &Station::Next, this);
    }

    Ptr<LrWpanNetDevice> device{CreateObject<LrWpanNetDevice>()};
    Ptr<ConstantPositionMobilityModel> mobility{CreateObject<ConstantPositionMobilityModel>()};
    Counts counts;

  private:
    void Next() {
        if (m_left > 0) {
            --m_left;
            device->GetMac()->McpsDataRequest(m_request, Create<Packet>(m_psdu - OVERHEAD));
        }
    }
    void OnConfirm(McpsDataConfirmParams confirm) {
        if (m_air.Counting()) {
            counts.acked += confirm.m_status == IEEE_802_15_4_SUCCESS;
            counts.noAck += confirm.m_status == IEEE_802_15_4_NO_ACK;
            counts.accessFail += confirm.m_status == IEEE_802_15_4_CHANNEL_ACCESS_FAILURE;
        }
        Next();
    }
    void OnTxBegin(Ptr<const Packet> packet) {
        if (!IsAck(packet)) {
            NS_ABORT_MSG_IF(packet->GetSize() != m_psdu, "PSDU has " << packet->GetSize());
            counts.sent += m_air.Counting();
            counts.intoAck += m_air.ack && m_air.Counting();
        }
        m_air.Begin(packet);
    }
    void OnTxEnd(Ptr<const Packet> packet) { m_air.End(packet); }
    void OnRx(Ptr<const Packet> packet) { counts.received += !IsAck(packet) && m_air.Counting(); }

    Air& m_air;
    McpsDataRequestParams m_request;
    uint32_t m_psdu{0};
    uint64_t m_left{0};
};

}  // namespace

int main(int argc, char* argv[]) {
    std::string mode{"csma"};
    uint32_t n = 1, len = 60, retries = 3, seed = 1, frames = 2000;
    double time = 120, gap = 0, snr = 0;
    bool capture = true, header = false;
    CommandLine cmd(__FILE__);
    cmd.AddValue("mode", "csma, hidden or per", mode);
    cmd.AddValue("n", "csma: number of senders", n);
    cmd.AddValue("len", "octets of the PSDU, FCS included", len);
    cmd.AddValue("retries", "macMaxFrameRetries", retries);
    cmd.AddValue("seed", "run number of the random generator", seed);
    cmd.AddValue("frames", "per: frames to send", frames);
    cmd.AddValue("time", "csma, hidden: seconds counted (after 1 s of warm-up)", time);
    cmd.AddValue("gap", "hidden: second sender weaker at the sink by this many dB", gap);
    cmd.AddValue("snr", "per: signal to noise in dB, as the model computes it", snr);
    cmd.AddValue("capture", "0: a frame overlapped by another is always lost", capture);
    cmd.AddValue("header", "1: print the names of the columns first", header);
    cmd.Parse(argc, argv);
    const bool per = mode == "per", hidden = mode == "hidden";
    NS_ABORT_MSG_UNLESS(per || hidden || mode == "csma", "unknown mode " << mode);
    n = hidden ? 2 : per ? 1 : n;
    RngSeedManager::SetRun(seed);

    Air air;
    air.start = Seconds(per ? 0 : 1);
    auto loss = CreateObject<MatrixPropagationLossModel>();
    auto channel = CreateObject<SingleModelSpectrumChannel>();
    channel->AddPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    auto sink = Create<Station>(1, channel, Vector(0, 0, 0), air);
    const auto noise = sink->device->GetPhy()->GetNoisePowerSpectralDensity();
    const double noiseDbm = 30 + 10 * log10(LrWpanSpectrumValueHelper::TotalAvgPower(noise, 11));
    // Everybody transmits at the default 0 dBm: the loss is the received power, sign changed.
    loss->SetDefaultLoss(per ? -(noiseDbm + snr) : hidden ? DEAF_LOSS_DB : STRONG_LOSS_DB);

    std::vector<Ptr<Station>> senders;
    for (uint32_t i = 0; i < n; ++i) {
        const double turn = 2 * M_PI * i / n;  // a circle of 1 m around the sink
        auto sender = Create<Station>(2 + i, channel, Vector(cos(turn), sin(turn), 0), air);
        sender->device->GetMac()->SetMacMaxFrameRetries(retries);
        if (hidden) {
            loss->SetLoss(sender->mobility, sink->mobility, STRONG_LOSS_DB + (i == 1 ? gap : 0));
        } else if (!capture) {
            sender->device->GetPhy()->SetPostReceptionErrorModel(CreateObject<NoCapture>(air));
        }
        sender->Saturate(per ? "ff:ff" : "00:01", len, !per, per ? frames : UINT64_MAX);
        senders.push_back(sender);
    }
    if (!capture) {
        sink->device->GetPhy()->SetPostReceptionErrorModel(CreateObject<NoCapture>(air));
    }
    if (!per) {
        Simulator::Stop(air.start + Seconds(time));
    }
    Simulator::Run();
    Counts all;
    for (const auto& sender : senders) {
        all.Add(sender->counts);
    }
    if (per) {
        const LrWpanErrorModel annexE;
        const double ratio = pow(10, snr / 10);
        if (header) {
            printf("len,snr_db,noise_dbm,loss,formula,formula_6_octets_more\n");
        }
        printf("%u,%.2f,%.3f,%.4f,%.4f,%.4f\n", len, snr, noiseDbm,
               1 - double(sink->counts.received) / frames,
               1 - annexE.GetChunkSuccessRate(ratio, 8 * len),
               1 - annexE.GetChunkSuccessRate(ratio, 8 * (len + 6)));
    } else {
        if (header) {
            printf("mode,n,len,retries,gap,capture,seed,acked_per_s,sent_per_s,received_per_s,sent_unacked,"
                   "sent_into_ack,access_fail,no_ack,acked_per_s_first,acked_per_s_last\n");
        }
        const double sent = all.sent, received = sink->counts.received;
        const double asked = all.acked + all.noAck + all.accessFail;
        printf("%s,%u,%u,%u,%g,%d,%u,%.2f,%.2f,%.2f,%.4f,%.4f,%.4f,%.4f,%.2f,%.2f\n", mode.c_str(), n, len,
               retries, gap, capture, seed, all.acked / time, sent / time, received / time,
               1 - all.acked / sent, all.intoAck / sent, all.accessFail / asked, all.noAck / asked,
               senders.front()->counts.acked / time, senders.back()->counts.acked / time);
    }
    Simulator::Destroy();
}
