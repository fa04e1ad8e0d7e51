import pytest
from kirikae import Ray, batches
from test_engines import by_number, some

ray = pytest.importorskip("ray", reason="Ray is not installed (pip install 'kirikae[ray]')")


def test_a_node_that_goes_leaves_its_batches_to_the_others(values):
    from ray.cluster_utils import Cluster

    values["workload"]["count"] = 3000
    every = some(values, 30)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        node = cluster.add_node(num_cpus=1)
        engine = Ray(cluster.address, log_to_driver=False)
        assert ray.cluster_resources()["CPU"] == 2
        results = engine.map(batches.run, every)
        early = [next(results) for _ in range(4)]
        cluster.remove_node(node)
        results = early + list(results)
        assert ray.cluster_resources()["CPU"] == 1
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert by_number(results) == [batches.run(batch) for batch in every]
