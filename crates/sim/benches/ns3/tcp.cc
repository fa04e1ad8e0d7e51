// The cases of the speed bench in ns-3: one TCP connection with SACK, PRR, delayed ACKs, an initial
// window of 10 and cubic. Prints one line of JSON. The queue is the device's alone, without a queueing
// discipline before it, which is the least work for ns-3.
//
//     tcp burst BURSTS HOPS    64 KB every 2 s, 10 Mb/s, RTT 200 ms, loss 1e-3, queue 100 packets
//     tcp bulk SECONDS         100 Mb/s, RTT 20 ms, queue 167 packets

#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

namespace {

constexpr uint32_t BURST_BYTES = 65536;
constexpr uint16_t PORT = 5201;

uint64_t g_delivered_packets;
uint64_t g_delivered_bytes;
uint32_t g_bursts_written;

void
Read(Ptr<Socket> socket)
{
    while (Ptr<Packet> packet = socket->Recv())
    {
        g_delivered_bytes += packet->GetSize();
    }
}

void
Accept(Ptr<Socket> socket, const Address&)
{
    socket->SetRecvCallback(MakeCallback(&Read));
}

// Segments with data that reach the receiver, in order or not.
void
CountSegment(Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t)
{
    if (packet->GetSize() > 100)
    {
        g_delivered_packets++;
    }
}

void
WriteBurst(Ptr<Socket> socket, uint32_t bursts)
{
    socket->Send(Create<Packet>(BURST_BYTES));
    if (++g_bursts_written < bursts)
    {
        Simulator::Schedule(Seconds(2), &WriteBurst, socket, bursts);
    }
}

// Keeps the send buffer full.
void
Fill(Ptr<Socket> socket, uint32_t available)
{
    while (available >= BURST_BYTES)
    {
        socket->Send(Create<Packet>(BURST_BYTES));
        available = socket->GetTxAvailable();
    }
}

} // namespace

int
main(int argc, char** argv)
{
    const std::string usage = "usage: tcp burst BURSTS HOPS | tcp bulk SECONDS";
    const std::string kind = argc > 1 ? argv[1] : "";
    const bool burst = kind == "burst" && argc == 4;
    if (!burst && !(kind == "bulk" && argc == 3))
    {
        std::cerr << usage << std::endl;
        return 2;
    }
    const uint32_t amount = std::atoi(argv[2]);
    const uint32_t hops = burst ? std::atoi(argv[3]) : 1;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType",
                       TypeIdValue(TcpPrrRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));

    NodeContainer nodes;
    nodes.Create(hops + 1);
    InternetStackHelper internet;
    internet.Install(nodes);

    PointToPointHelper link;
    const Time delay = burst ? MilliSeconds(100) : MilliSeconds(10);
    link.SetDeviceAttribute("DataRate", StringValue(burst ? "10Mbps" : "100Mbps"));
    link.SetChannelAttribute("Delay", TimeValue(delay / hops));
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  StringValue(burst ? "100p" : "167p"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4Address receiver;
    for (uint32_t hop = 0; hop < hops; hop++)
    {
        NetDeviceContainer devices = link.Install(nodes.Get(hop), nodes.Get(hop + 1));
        if (burst && hop == 0)
        {
            Ptr<RateErrorModel> loss = CreateObject<RateErrorModel>();
            loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
            loss->SetRate(1e-3);
            devices.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(loss));
        }
        receiver = addresses.Assign(devices).GetAddress(1);
        addresses.NewNetwork();
        TrafficControlHelper().Uninstall(devices);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<Socket> listener =
        Socket::CreateSocket(nodes.Get(hops), TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                MakeCallback(&Accept));
    nodes.Get(hops)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
        "Rx",
        MakeCallback(&CountSegment));

    Ptr<Socket> sender = Socket::CreateSocket(nodes.Get(0), TcpSocketFactory::GetTypeId());
    sender->Bind();
    sender->Connect(InetSocketAddress(receiver, PORT));
    if (burst)
    {
        Simulator::Schedule(Seconds(2), &WriteBurst, sender, amount);
    }
    else
    {
        sender->SetSendCallback(MakeCallback(&Fill));
        Simulator::Schedule(Seconds(1), [sender] { Fill(sender, sender->GetTxAvailable()); });
    }
    const double seconds = burst ? 2.0 * amount + 60 : 1.0 + amount;
    Simulator::Stop(Seconds(seconds));
    const std::clock_t began = std::clock();
    Simulator::Run();
    const double cpu_s = double(std::clock() - began) / CLOCKS_PER_SEC;
    std::cout << "{\"cpu_s\":" << cpu_s << ",\"packets\":" << g_delivered_packets
              << ",\"bytes\":" << g_delivered_bytes
              << ",\"events\":" << Simulator::GetEventCount() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
